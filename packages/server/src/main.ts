/** The entry of the `hermod` command. */
import type { CommandDependencies, MigrationResult } from './commands/program.js'
import { restartCode, runProgram } from './commands/program.js'
import { type LocalCalls, RestartNeeded } from './commands/runtime/call.js'
import type {
  DataCommands,
  PushSimulationOptions,
  VerificationCommands,
} from './commands/runtime/command.js'
import type { LoadedConfig } from './config/config.js'
import type { RunningServer } from './context/server/server.js'
import type { Logger } from './observability/log.js'
import { stopSignal } from './lib/system/stop-signal.js'
import { version } from './lib/version.js'

/** The time for calls to end when the database has another history. */
const historyEndMs = 5_000
/** The time for a reader to take the last lines of a stopped service. */
const unreadOutputMs = 1_000

/** @param args without the interpreter and the script */
export async function run(args: readonly string[]): Promise<void> {
  // Files of the command (database, keys, sockets) are for its user only.
  process.umask(0o077)
  // Without a listener Node opens its debugger at this signal.
  process.on('SIGUSR1', () => {})
  process.stdout.once('error', endUnread)
  const dependencies: CommandDependencies = {
    ...commandWork,
    env: process.env,
    // Opened by the command that reads it.
    get stdin() {
      return process.stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
  }
  process.exitCode = await runProgram(dependencies, args)
}

/**
 * Ends a command whose output is read by a program that has ended, such as head. Its work may not be
 * done, so the exit code is that of a program that SIGPIPE has ended.
 */
function endUnread(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
  process.exit(141)
}

// Each is imported by the command that needs it, so that the others start at once.

async function serve(
  loaded: LoadedConfig,
  options: { readonly withoutCopy: boolean },
): Promise<void> {
  const [{ startService }, { createLog }] = await Promise.all([
    import('./context/server/server.js'),
    import('./observability/log.js'),
  ])
  // The service outlives the reader of its log.
  process.stdout.off('error', endUnread).on('error', () => {})
  const log = createLog(loaded.config.log.level)
  const server = await startService(loaded, log, options)
  if (server.first) process.stdout.write(firstStartText(server.url, server.first))
  const { url, nodeId } = server
  log.info({ url, node: nodeId, version, storage: loaded.config.storage.kind }, 'listening')
  const isStopped = await Promise.race([
    stopSignal({ onSignal: (signal) => log.info({ signal }, 'stopping') }).then(() => true),
    server.drained.then(() => true),
    server.historyEnded.then(() => false),
  ])
  if (!isStopped) return endHistory(server, log)
  const timeout = setTimeout(() => {
    log.error(
      'calls are still in progress after the shutdown timeout; the process ends without them',
    )
    // An orderly exit would wait for the database's thread. The delay lets the line above be written.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100)
  }, loaded.config.http.shutdownTimeoutMs)
  try {
    await server.stop()
  } finally {
    clearTimeout(timeout)
    // Output that is not read keeps the process alive.
    setTimeout(() => process.exit(), unreadOutputMs).unref()
  }
  log.info('stopped')
}

/**
 * Stops a service whose database has another history: caches and positions are those of the old one.
 * @throws RestartNeeded
 */
async function endHistory(server: RunningServer, log: Logger): Promise<never> {
  const timeout = setTimeout(() => {
    log.error('calls are still in progress; the process ends without them')
    setTimeout(() => process.exit(restartCode), 100)
  }, historyEndMs)
  // Writes are refused from here on, so parts that write at their end fail.
  await server.stop().catch((error: unknown) => log.debug({ err: error }, 'stopped with failures'))
  clearTimeout(timeout)
  setTimeout(() => process.exit(), unreadOutputMs).unref()
  throw new RestartNeeded('the database has another history; the process is to be started again')
}

function firstStartText(url: string, first: NonNullable<RunningServer['first']>): string {
  return `
This is the first start on this data folder. Keep these; they are not shown again:

  app_id          ${first.appId}
  Admin token     ${first.adminToken}
${first.operatorToken === null ? '' : `  operator token  ${first.operatorToken}\n`}
Register a first user:

  curl -X POST ${url}/user/register/v2 -H 'app_id: ${first.appId}' -H 'content-type: application/json' -d '{"username":"alice","password":"change-me-soon"}'

Everyone who reaches this service can register so. To let only Admin tokens register users:

  npx hermod app update ${first.appId} --open-registration false

`
}

const local: LocalCalls = async (loaded) => {
  const { openLocalCalls } = await import('./context/local-calls.js')
  return openLocalCalls(loaded)
}

async function migrate(
  loaded: LoadedConfig,
  { withoutCopy, ...options }: { readonly statusOnly: boolean; readonly withoutCopy: boolean },
): Promise<MigrationResult> {
  const [{ migrateDatabase }, { createLog }] = await Promise.all([
    import('./context/database/migration.js'),
    import('./observability/log.js'),
  ])
  return migrateDatabase({ ...loaded, withoutCopy, log: createLog('silent') }, options)
}

async function checkDatabase(loaded: LoadedConfig): Promise<string | null> {
  if (loaded.config.storage.kind === 'sqlite') return null
  const [{ openDatabase }, { DatabaseUnreachableError }, { createLog }] = await Promise.all([
    import('./context/database/open-database.js'),
    import('./context/database/start-check.js'),
    import('./observability/log.js'),
  ])
  try {
    await using _ = await openDatabase({ ...loaded, log: createLog('silent') })
    return null
  } catch (error) {
    if (error instanceof DatabaseUnreachableError) return error.message
    throw error
  }
}

async function compact(loaded: LoadedConfig) {
  const { compactDatabase } = await import('./context/database/compaction.js')
  return compactDatabase(loaded)
}

async function newEpoch(loaded: LoadedConfig): Promise<string> {
  const [{ newEpoch }, { createLog }] = await Promise.all([
    import('./context/database/new-epoch.js'),
    import('./observability/log.js'),
  ])
  return newEpoch({ ...loaded, log: createLog('silent') })
}

/** Digests, exports and imports. */
const data: DataCommands = {
  digest: async (loaded, chosen, progress) =>
    (await transfers()).digestData(await silent(loaded), chosen, { progress }),
  export: async (loaded, options, progress) =>
    (await transfers()).exportData(await silent(loaded), { ...options, version }, { progress }),
  import: async (loaded, options, progress) =>
    (await imports()).importData(await silent(loaded), options, { progress }),
  undoImport: async (loaded, progress) =>
    (await imports()).undoImportData(await silent(loaded), { progress }),
  checkImport: async (loaded, options, progress) =>
    (await imports()).checkImport(await silent(loaded), options, { progress }),
}

function imports() {
  return import('./context/database/import-data.js')
}

function transfers() {
  return import('./context/database/transfer.js')
}

async function silent(loaded: LoadedConfig) {
  const { createLog } = await import('./observability/log.js')
  return { ...loaded, log: createLog('silent') }
}

/** Verification of backups and of restored copies. */
const verification: VerificationCommands = {
  backup: async (...parameters) =>
    (await import('./context/database/verify-backup.js')).verifyChosenBackup(...parameters),
  copy: async (...parameters) =>
    (await import('./context/database/verify-backup.js')).verifyCopy(...parameters),
}

async function simulatePush(options: PushSimulationOptions): Promise<void> {
  const { PushSimulator, describeSimulator, replyText } = await import('@hermod/push-simulator')
  const stopped = stopSignal()
  await using simulator = await PushSimulator.start({
    firstPort: options.firstPort,
    sendsReceipts: true,
    onCall: ({ at, channel, method, path, body, reply }) =>
      options.received({ at, channel, method, path, body, answer: replyText(reply) }),
    ...(options.receiptUrl === undefined ? {} : { receiptUrl: options.receiptUrl }),
  })
  await options.started(describeSimulator(simulator))
  await stopped
}

/** The work of the commands, without the environment and the streams of a process. */
export const commandWork: Omit<CommandDependencies, 'env' | 'stdin' | 'stdout' | 'stderr'> = {
  version,
  local,
  serve,
  migrate,
  checkDatabase,
  compact,
  newEpoch,
  data,
  verification,
  restore: async (...parameters) =>
    (await import('./context/database/restore-backup.js')).restoreChosenBackup(...parameters),
  simulatePush,
  interrupted: (until) => stopSignal({ until }),
}
