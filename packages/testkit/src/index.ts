export {
  type Account,
  Answer,
  Api,
  type ApiOptions,
  type CallOptions,
  type Envelope,
  type Json,
  type Session,
  type TokenData,
} from './api.js'
export {
  type Backend,
  type BackendDatabase,
  type PostgresBackend,
  stopSharedCluster,
  testBackends,
} from './backends.js'
export { Child, type ChildOptions, type Exit } from './child.js'
export { findChromium, testChromium } from './chromium.js'
export { parseExactJson, stringifyExactJson } from './exact-json.js'
export { atExit } from './exit-tasks.js'
export { freePort } from './free-port.js'
export {
  type ClusterOptions,
  findPostgres,
  PostgresCluster,
  type PostgresPrograms,
  type TestDatabase,
} from './postgres.js'
export { cpuMs, descendants, isRunning, peakRssBytes, rssBytes } from './proc.js'
export {
  type ServerOptions,
  ServerProcess,
  ServerStartError,
  startServer,
  type TestContext,
} from './server-process.js'
export { TempFolder } from './temp-folder.js'
export { type Patience, waitFor } from './wait.js'
