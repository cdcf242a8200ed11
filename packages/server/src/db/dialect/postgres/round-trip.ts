/**
 * One round trip to PostgreSQL for several statements. A round trip wakes both processes, which
 * costs as much as a small statement.
 */
import { createHash } from 'node:crypto'
import type pg from 'pg'
import { encodeArray } from './arrays.js'

/** A statement with parameters $1, $2 and so on. */
export interface RoundTripStatement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** The answer to a statement, with parsed values in the order of the columns. */
export interface RoundTripResult {
  readonly columns: readonly string[]
  readonly rows: (readonly unknown[])[]
  /** The number of rows that the statement selected or changed. */
  readonly count: number
}

type Parser = (text: string) => unknown

interface ResultColumns {
  readonly names: readonly string[]
  readonly parsers: readonly Parser[]
}

/** A statement that a connection has prepared. */
interface PreparedStatement {
  /** '' = it is not kept. */
  readonly name: string
  /** Known after its first run on the connection. */
  columns?: ResultColumns | undefined
}

const maxPrepared = 500
/** A statement whose tables have other columns by now, or that is no longer prepared. */
const outdated = new Set([
  '0A000' /* feature_not_supported */,
  '26000' /* invalid_sql_statement_name */,
])
const noColumns: ResultColumns = { names: [], parsers: [] }

/**
 * The prepared statements of each connection by their text. It is the only cache of names. A
 * prepared statement spares PostgreSQL parsing, planning and the description of its rows.
 */
const preparedOn = new WeakMap<pg.Connection, Map<string, PreparedStatement>>()

/**
 * Sends statements together. They run in their order; after a failed one the rest is not run.
 * @returns the result of each
 * @throws the driver's error
 */
export function sendInOneRoundTrip(
  client: pg.ClientBase,
  statements: readonly RoundTripStatement[],
): Promise<readonly RoundTripResult[]> {
  return new Promise((resolve, reject) => {
    const parserOf = (type: number): Parser => client.getTypeParser(type)
    client.query(new RoundTrip({ statements, parserOf, resolve, reject }))
  })
}

interface RoundTripOptions {
  readonly statements: readonly RoundTripStatement[]
  /** @param type the OID of a type */
  parserOf(type: number): Parser
  resolve(results: readonly RoundTripResult[]): void
  reject(error: unknown): void
}

/** Takes the place of the driver's query. The driver calls a method for each message of the server. */
class RoundTrip implements pg.Submittable {
  /**
   * The parameters of each statement as texts, made before anything is sent: a value without a text
   * stops nothing half-way.
   */
  readonly #values: readonly (string | null)[][]
  readonly #prepared: PreparedStatement[] = []
  readonly #results: RoundTripResult[] = []
  #columns = noColumns
  #rows: (readonly unknown[])[] = []
  #connection: pg.Connection | undefined
  #isUnreadable = false

  constructor(private readonly options: RoundTripOptions) {
    this.#values = options.statements.map(({ parameters }) => parameters.map(toText))
  }

  submit(connection: pg.Connection): void {
    this.#connection = connection
    connection.stream.cork()
    try {
      for (const [index, { sql }] of this.options.statements.entries())
        this.#ask(connection, sql, this.#values[index] ?? [])
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  #ask(connection: pg.Connection, sql: string, values: (string | null)[]): void {
    const statement = preparedStatement(connection, sql)
    const { name, columns } = statement
    this.#prepared.push(statement)
    if (!columns) {
      // After a failure the name may be taken; closing an unknown name is no error.
      connection.close({ type: 'S', name }, true)
      connection.parse({ name, text: sql, types: [] }, true)
    }
    connection.bind({ statement: name, values }, true)
    if (!columns) connection.describe({ type: 'P' }, true)
    connection.execute({}, true)
  }

  get #current(): PreparedStatement {
    return this.#prepared[this.#results.length] as PreparedStatement
  }

  handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
    this.#read(() => {
      const { parserOf } = this.options
      this.#columns = {
        names: fields.map(({ name }) => name),
        parsers: fields.map(({ dataTypeID }) => parserOf(dataTypeID)),
      }
    })
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#read(() => {
      const { parsers } = this.#current.columns ?? this.#columns
      this.#rows.push(
        fields.map((text, index) => (text === null ? null : (parsers[index] as Parser)(text))),
      )
    })
  }

  /**
   * An answer that is not as it was described ends the connection; the driver would let the error
   * end the process.
   */
  #read(message: () => void): void {
    if (this.#isUnreadable) return
    try {
      message()
    } catch (error) {
      this.#isUnreadable = true
      this.options.reject(error)
      this.#connection?.stream.destroy()
    }
  }

  /**
   * @param message its text is the kind of the statement and, where there is one, the number of
   * rows: `INSERT 0 5`
   */
  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#read(() => {
      const current = this.#current
      const columns = current.columns ?? this.#columns
      if (current.name !== '') current.columns = columns
      const count = Number.parseInt(text.slice(text.lastIndexOf(' ') + 1), 10)
      this.#results.push({
        columns: columns.names,
        rows: this.#rows,
        count: Number.isNaN(count) ? 0 : count,
      })
      this.#columns = noColumns
      this.#rows = []
    })
  }

  handleReadyForQuery(): void {
    // Changes nothing after a rejection.
    this.options.resolve(this.#results)
  }

  handleError(error: unknown): void {
    const failed = this.#prepared[this.#results.length]
    // Prepared again, it works the next time.
    if (failed && outdated.has(String((error as { code?: unknown }).code)))
      failed.columns = undefined
    this.options.reject(error)
  }
}

function preparedStatement(connection: pg.Connection, sql: string): PreparedStatement {
  const known = preparedOn.get(connection) ?? new Map<string, PreparedStatement>()
  preparedOn.set(connection, known)
  const prepared = known.get(sql) ?? { name: known.size < maxPrepared ? statementName(sql) : '' }
  if (prepared.name !== '') known.set(sql, prepared)
  return prepared
}

/** A name that no other statement has, on whatever connection of PostgreSQL it is used. */
function statementName(sql: string): string {
  return createHash('sha1').update(sql).digest('base64url')
}

function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return Array.isArray(value) ? encodeArray('text', value) : String(value)
}
