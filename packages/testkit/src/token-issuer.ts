import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { whenUnlocked } from './unlocked.js'

/** Location of a server's data. */
export interface DataPlace {
  readonly dataDir: string
  /** A postgres:// URL; undefined: the embedded database of the folder. */
  readonly databaseUrl: string | undefined
}

type TokenRow = readonly [
  appId: string,
  tokenHash: string,
  userId: number,
  createdAt: number,
  expiresAt: number,
]

interface TokenTable extends AsyncDisposable {
  insert(row: TokenRow): Promise<void>
}

const columns = 'app_id, token_hash, user_id, created_at, expires_at'
const lifeMs = 7 * 86_400_000

/**
 * Writes access tokens of users into a server's database: a login by password costs 11 ms of
 * processor time, a row next to nothing.
 */
export class TokenIssuer implements AsyncDisposable {
  #table: Promise<TokenTable> | undefined

  constructor(private readonly place: DataPlace) {}

  /** Issues a token that is tied to no device. */
  async issue(appId: string, userId: number): Promise<string> {
    const { dataDir, databaseUrl } = this.place
    this.#table ??=
      databaseUrl === undefined ? openSqlite(join(dataDir, 'hermod.db')) : openPostgres(databaseUrl)
    // The capital letter makes the token differ from its lower case, as real ones do.
    const token = `hmu_T${randomBytes(24).toString('hex')}`
    const hash = createHash('sha256').update(token).digest('base64url')
    const now = Date.now()
    await (await this.#table).insert([appId, hash, userId, now, now + lifeMs])
    return token
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const table = this.#table
    this.#table = undefined
    await (await table)?.[Symbol.asyncDispose]()
  }
}

async function openSqlite(path: string): Promise<TokenTable> {
  const database = new DatabaseSync(path, { timeout: 0 })
  // The server makes its own commits durable, and moves the log into the database.
  database.exec('pragma synchronous = off; pragma wal_autocheckpoint = 0')
  const statement = database.prepare(`insert into user_tokens (${columns}) values (?, ?, ?, ?, ?)`)
  return {
    insert: async (row) => {
      await whenUnlocked(() => statement.run(...row))
    },
    [Symbol.asyncDispose]: async () => database.close(),
  }
}

async function openPostgres(url: string): Promise<TokenTable> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  // A cluster that a test kills cuts the connection; the pool opens the next one.
  pool.on('error', () => {})
  return {
    insert: async (row) => {
      const text = `insert into user_tokens (${columns}) values ($1, $2, $3, $4, $5)`
      await pool.query({ name: 'token', text, values: [...row] })
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}
