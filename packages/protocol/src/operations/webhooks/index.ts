export * from './endpoints.js'
export * from './log.js'
