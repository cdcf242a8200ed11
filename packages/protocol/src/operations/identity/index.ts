export * from './identities.js'
export * from './tokens.js'
