/** Everything that the entries for browsers and Node share. */
export * from './api.js'
export type { ConnectionState, ConnectionStatus } from './core/live-state.js'
export {
  ClientError,
  type ClientErrorName,
  type CloseName,
  clientErrors,
  type Failure,
  type FailureName,
  type ServerErrorName,
  type StreamPosition,
} from './errors.js'
export type * from './protocol-types.js'
export {
  type Credentials,
  type LogIn,
  logIn,
  register,
  type ServiceAddress,
} from './surface/log-in.js'
