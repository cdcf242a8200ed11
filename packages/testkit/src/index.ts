export {
  type Account,
  Answer,
  Api,
  type ApiOptions,
  type ApiRequest,
  type CallOptions,
  type Envelope,
  type Json,
  type LoginSession,
  type Session,
  sharedPassword,
  type TokenData,
} from './api.js'
export {
  anyBackend,
  type Backend,
  type BackendDatabase,
  type ClusterKind,
  isFullRun,
  type PostgresBackend,
  parallelBackend,
  testBackends,
} from './backends.js'
export { findChromium, testChromium } from './chromium.js'
export { parseExactJson, stringifyExactJson } from './exact-json.js'
export { Cursor } from './gateway/cursor.js'
export type { GatewayEvent, GatewayFrame } from './gateway/frame.js'
export {
  type ActingAs,
  GatewayClient,
  type GatewayClientOptions,
  type GatewayClose,
  HandshakeRefused,
  type OpenOptions,
} from './gateway/gateway-client.js'
export { emptyMemoryDisk, memoryDisk } from './memory-disk.js'
export {
  type ClusterOptions,
  findPostgres,
  isEmptyDatabase,
  PostgresCluster,
  type PostgresPrograms,
  type TestDatabase,
} from './postgres.js'
export { Child, type ChildOptions, type Exit } from './processes/child.js'
export { atExit } from './processes/exit-tasks.js'
export { freePort } from './processes/free-port.js'
export {
  cpuMs,
  descendants,
  isRunning,
  peakRssBytes,
  rssBytes,
  threadCpuMs,
} from './processes/proc.js'
export {
  type ServerOptions,
  ServerProcess,
  ServerStartError,
  startServer,
  type TestContext,
} from './processes/server-process.js'
export { findPython, testPython } from './python.js'
export { TempFolder } from './temp-folder.js'
export { TokenIssuer } from './token-issuer.js'
export { whenUnlocked } from './unlocked.js'
export { type Patience, waitFor } from './wait.js'
