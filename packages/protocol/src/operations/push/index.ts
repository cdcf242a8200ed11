export * from './certificates.js'
export * from './preferences.js'
export * from './tasks.js'
