/** The client for browsers. */
export * from './api.js'
export type * from './protocol-types.js'
export { ClientError, type ClientErrorName, clientErrors } from './errors.js'
export type { ConnectionState, ConnectionStatus } from './core/live-state.js'
