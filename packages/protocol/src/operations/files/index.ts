export * from './files.js'
export * from './operator.js'
