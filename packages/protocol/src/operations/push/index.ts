export * from './preferences.js'
export * from './tasks.js'
