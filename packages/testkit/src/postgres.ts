import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import pg from 'pg'
import { Child, send } from './processes/child.js'
import { freePort } from './processes/free-port.js'
import { cpuMsWithEndedChildren, descendants, isRunning, rssBytes } from './processes/proc.js'
import { TempFolder } from './temp-folder.js'
import { waitFor } from './wait.js'

export interface PostgresPrograms {
  readonly binDir: string
  /** Such as 15.18. */
  readonly version: string
}

const oldestVersion = 15
const superuser = 'hermod'
const distributionFolder = '/usr/lib/postgresql'

/**
 * Finds the newest PostgreSQL of at least version 15, in PATH and in the folders of Debian-like
 * systems; null for none. HERMOD_TEST_POSTGRES limits the search to one major version.
 */
export function findPostgres(): PostgresPrograms | null {
  const wanted = process.env.HERMOD_TEST_POSTGRES || undefined
  const found = [...candidateFolders()]
    .flatMap((folder) => inspect(folder))
    .filter(({ version }) => wanted === undefined || version.startsWith(`${wanted}.`))
  return (
    found.sort((a, b) => Number.parseFloat(b.version) - Number.parseFloat(a.version))[0] ?? null
  )
}

function candidateFolders(): Set<string> {
  const onPath = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => existsSync(join(folder, 'postgres')))
  const versions = existsSync(distributionFolder) ? readdirSync(distributionFolder) : []
  return new Set([
    // A program in PATH may be a link out of the folder with all of them.
    ...onPath.map((folder) => dirname(realpathSync(join(folder, 'postgres')))),
    ...versions.map((version) => join(distributionFolder, version, 'bin')),
  ])
}

function inspect(binDir: string): PostgresPrograms[] {
  try {
    accessSync(join(binDir, 'initdb'), constants.X_OK)
    const version = /\(PostgreSQL\) (\d+(\.\d+)?)/.exec(
      execFileSync(join(binDir, 'postgres'), ['--version'], { encoding: 'utf8' }),
    )?.[1]
    return version !== undefined && Number.parseFloat(version) >= oldestVersion
      ? [{ binDir, version }]
      : []
  } catch {
    return []
  }
}

export interface ClusterOptions {
  /**
   * Settings of postgresql.conf, such as `{ fsync: 'off' }`; by default commits are fully durable.
   */
  readonly settings?: Readonly<Record<string, string>>
  /** Parent of its folder; default: the system's temporary folder. */
  readonly folder?: string | undefined
  /** Default: the newest found. */
  readonly programs?: PostgresPrograms
}

export interface TestDatabase extends AsyncDisposable {
  readonly url: string
  /** Ends its connections and removes it. */
  drop(): Promise<void>
  /** Size of its tables and indexes on disk. */
  sizeBytes(): Promise<number>
}

/** The columns of what {@link PostgresCluster} asks as its superuser. */
interface AdministrativeRow {
  readonly size?: string
  readonly lsn?: string
  readonly is_so?: boolean
}

/** A separate PostgreSQL in a temporary folder, on a free loopback port, without passwords. */
export class PostgresCluster implements AsyncDisposable {
  readonly programs: PostgresPrograms
  readonly #folder: TempFolder
  readonly #settings: Readonly<Record<string, string>>
  readonly #user: { readonly uid: number; readonly gid: number } | undefined
  #port = 0
  #postmaster: Child | null = null

  private constructor(
    programs: PostgresPrograms,
    private readonly options: ClusterOptions,
  ) {
    const { settings = {}, folder } = options
    this.programs = programs
    this.#settings = settings
    this.#folder = new TempFolder('postgres', folder)
    this.#user = unprivilegedUser()
    if (this.#user) chownSync(this.#folder.path, this.#user.uid, this.#user.gid)
  }

  static async start(options: ClusterOptions = {}): Promise<PostgresCluster> {
    const found = options.programs ?? findPostgres()
    if (!found) {
      const wanted = process.env.HERMOD_TEST_POSTGRES || `${oldestVersion} or newer`
      throw new Error(`PostgreSQL ${wanted} was not found`)
    }
    const cluster = new PostgresCluster(found, options)
    return cluster.#startOn(() => cluster.#initialise())
  }

  /** Copies it, and starts an asynchronous standby that follows it and has the same settings. */
  async startStandby(): Promise<PostgresCluster> {
    const standby = new PostgresCluster(this.programs, this.options)
    return standby.#startOn(() => standby.#copy(this.#url('postgres')))
  }

  /**
   * Waits until a standby of this one has everything that is committed now.
   * @throws Error when it does not get there
   */
  async waitForStandby(standby: PostgresCluster): Promise<void> {
    const [end] = await this.#administer('SELECT pg_current_wal_lsn() AS lsn')
    const hasAll = `SELECT pg_last_wal_replay_lsn() >= '${end?.lsn}' AS is_so`
    await standby.#until(hasAll, 'a standby that has everything')
  }

  /** From now on every commit waits until the standby has it; false: no longer. */
  async makeSynchronous(isSynchronous = true): Promise<void> {
    const names = isSynchronous ? '*' : ''
    await this.#administer(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await this.#administer('SELECT pg_reload_conf()')
    if (!isSynchronous) return
    const isSo = `SELECT count(*) > 0 AS is_so FROM pg_stat_replication WHERE sync_state = 'sync'`
    await this.#until(isSo, 'a synchronous standby')
  }

  /** A standby receives nothing any more, as if it were cut from its primary. */
  async detach(): Promise<void> {
    await this.#administer("ALTER SYSTEM SET primary_conninfo = ''")
    await this.#administer('SELECT pg_reload_conf()')
    await this.#until('SELECT count(*) = 0 AS is_so FROM pg_stat_wal_receiver', 'no receiver')
  }

  /** Makes a standby a primary, as a failover does. Commits that it has not received are lost. */
  async promote(): Promise<void> {
    // Its own commits wait for no standby.
    await this.#administer("ALTER SYSTEM SET synchronous_standby_names = ''")
    await this.#administer('SELECT pg_reload_conf()')
    await this.#administer('SELECT pg_promote(true, 60)')
    await this.#until('SELECT NOT pg_is_in_recovery() AS is_so', 'a promoted standby')
  }

  /** The connection URL of a database that it has. */
  urlOf(database: string): string {
    return this.#url(database)
  }

  get dataDir(): string {
    return join(this.#folder.path, 'data')
  }

  /** Changes with every restart; -1 while it is down. */
  get postmasterPid(): number {
    return this.#running()?.pid ?? -1
  }

  /** Log of PostgreSQL since its last start. */
  output(): string {
    return this.#postmaster?.output() ?? ''
  }

  /** User and system time of all server processes since the last start. */
  cpuMs(): number {
    return this.#total(cpuMsWithEndedChildren)
  }

  /** Resident memory of all server processes; shared buffers count in each of them. */
  rssBytes(): number {
    return this.#total(rssBytes)
  }

  /** Creates an empty database under an unused name. */
  async createDatabase(): Promise<TestDatabase> {
    const name = `test_${randomBytes(8).toString('hex')}`
    await this.#administer(`CREATE DATABASE ${name}`)
    const drop = async () => {
      if (this.#running()) await this.#administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    }
    const sizeBytes = async () => {
      const [row] = await this.#administer(`SELECT pg_database_size('${name}') AS size`)
      return Number(row?.size)
    }
    return { url: this.#url(name), drop, sizeBytes, [Symbol.asyncDispose]: drop }
  }

  /** Size of the write-ahead log of all databases. */
  async walBytes(): Promise<number> {
    const [row] = await this.#administer('SELECT sum(size) AS size FROM pg_ls_waldir()')
    return Number(row?.size)
  }

  /** Stops it in order and disconnects its clients; databases stay. */
  async stop(): Promise<void> {
    this.#postmaster?.signal('SIGINT')
    await this.#postmaster?.exited
  }

  /** Kills all of its processes at once, as a power failure would. */
  async kill9(): Promise<void> {
    const pids = this.#pids()
    for (const pid of pids) send(pid, 'SIGKILL')
    await this.#postmaster?.exited
    await waitFor(() => pids.every((pid) => !isRunning(pid)), {
      what: 'the end of PostgreSQL',
      timeoutMs: 10_000,
    })
  }

  /**
   * Starts it again on the same folder and the same port, if it had one; stops a running one first.
   */
  async restart(): Promise<void> {
    await this.stop()
    const triesMax = 5
    for (let tries = 1; ; tries++) {
      const port = this.#port || (await freePort())
      const postmaster = this.#launch(port)
      if (await this.#accepts(postmaster, port)) {
        this.#port = port
        return
      }
      // Another process took the port, or the processes of a killed postmaster are still ending.
      if (tries === triesMax) throw new Error(`PostgreSQL did not start:\n${postmaster.output()}`)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The data is no longer needed.
    await this.kill9()
    this.#folder[Symbol.dispose]()
  }

  #running(): Child | null {
    return this.#postmaster?.exit === null ? this.#postmaster : null
  }

  #pids(): number[] {
    const postmaster = this.#running()
    return postmaster ? [postmaster.pid, ...descendants(postmaster.pid)] : []
  }

  #total(figure: (pid: number) => number): number {
    const [postmaster, ...others] = this.#pids()
    // A process that has just ended has no figures.
    return postmaster === undefined
      ? 0
      : others.reduce((sum, pid) => sum + (figure(pid) || 0), figure(postmaster))
  }

  async #startOn(makeData: () => Promise<void>): Promise<this> {
    try {
      await makeData()
      await this.restart()
      return this
    } catch (error) {
      await this[Symbol.asyncDispose]()
      throw error
    }
  }

  async #copy(primaryUrl: string): Promise<void> {
    const args = ['-D', this.dataDir, '-d', primaryUrl, '-R', '-X', 'stream', '-c', 'fast']
    await this.#runProgram('pg_basebackup', [...args, '--no-sync'])
  }

  async #initialise(): Promise<void> {
    const args = [
      '-D',
      this.dataDir,
      '-U',
      superuser,
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ]
    await this.#runProgram('initdb', args)
  }

  async #runProgram(name: string, args: readonly string[]): Promise<void> {
    const program = new Child([join(this.programs.binDir, name), ...args], this.#spawnOptions())
    const { code } = await program.exited
    if (code !== 0) throw new Error(`${name} failed:\n${program.output()}`)
  }

  #launch(port: number): Child {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: String(port),
      unix_socket_directories: this.#folder.path,
      // Shared memory in the data folder: a killed server leaves nothing in /dev/shm.
      dynamic_shared_memory_type: 'mmap',
      ...this.#settings,
    }
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    this.#postmaster = new Child(
      [join(this.programs.binDir, 'postgres'), '-D', this.dataDir, ...args],
      this.#spawnOptions(),
    )
    return this.#postmaster
  }

  #spawnOptions() {
    return { cwd: this.#folder.path, ...(this.#user && { user: this.#user }) }
  }

  /** @returns false: it ended instead */
  async #accepts(postmaster: Child, port: number): Promise<boolean> {
    const answer = await waitFor(
      async () => {
        if (postmaster.exit) return 'ended'
        const dataDir = await dataDirAt(this.#url('postgres', port))
        // Another server may listen there, and then this one is about to end.
        return dataDir === this.dataDir && 'accepts'
      },
      { what: 'a connection to PostgreSQL', timeoutMs: 60_000, everyMs: 20 },
    )
    return answer === 'accepts'
  }

  async #until(question: string, what: string): Promise<void> {
    const isSo = async () => (await this.#administer(question))[0]?.is_so === true
    await waitFor(isSo, { what, timeoutMs: 60_000, everyMs: 20 })
  }

  async #administer(statement: string): Promise<AdministrativeRow[]> {
    const client = new pg.Client({ connectionString: this.#url('postgres') })
    await client.connect()
    try {
      return (await client.query<AdministrativeRow>(statement)).rows
    } finally {
      await client.end()
    }
  }

  #url(database: string, port = this.#port): string {
    return `postgres://${superuser}@127.0.0.1:${port}/${database}`
  }
}

/** Reports whether a database has no tables. @throws Error when it cannot be reached */
export async function isEmptyDatabase(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ is_empty: boolean }>(
      'SELECT NOT EXISTS (SELECT FROM pg_tables WHERE schemaname = ANY (current_schemas(false))) AS is_empty',
    )
    return rows[0]?.is_empty === true
  } finally {
    await client.end().catch(() => {})
  }
}

/** @returns undefined: no server answers yet */
async function dataDirAt(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  // A connection that is cut after it was open is not a failure of this process.
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ dir: string }>(
      "select current_setting('data_directory') as dir",
    )
    return rows[0]?.dir
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * PostgreSQL refuses to run as root.
 * @returns undefined: this process is not root
 */
function unprivilegedUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const accounts = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const account = accounts.find((fields) => fields[0] === name)
    if (account) return { uid: Number(account[2]), gid: Number(account[3]) }
  }
  throw new Error(
    'PostgreSQL does not run as root and there is neither a user postgres nor a user nobody',
  )
}
