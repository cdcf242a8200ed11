export * from './identities.js'
export * from './issuers.js'
export * from './tokens.js'
