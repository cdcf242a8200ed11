/**
 * Statements that go to PostgreSQL together and are answered together. An exchange of packets wakes both processes, which costs them as
 * much as a small statement does.
 */
import type pg from 'pg'

/** A statement whose parameters are written $1, $2 and so on. */
export interface RoundTripStatement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** What a statement has answered, with values as the service has them. */
export interface RoundTripResult {
  readonly rows: Record<string, unknown>[]
  /** How many rows the statement selected or changed. */
  readonly count: number
}

type Parser = (text: string) => unknown

interface Column {
  readonly name: string
  readonly parse: Parser
}

/** A statement as a connection knows it. */
interface PreparedStatement {
  /** '' = it is not kept. */
  readonly name: string
  /** Known when it has run there. */
  columns?: readonly Column[]
}

const maxPrepared = 500

/** By their text. Statements that recur are spared parsing, planning and the description of their rows. */
const preparedOn = new WeakMap<pg.Connection, Map<string, PreparedStatement>>()

/**
 * Runs statements in their order; after the first that fails the rest is not run.
 * @returns the result of each
 * @throws what the driver throws
 */
export function sendTogether(
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

/** In the driver's place of a query. The driver calls a method for each message of the server. */
class RoundTrip implements pg.Submittable {
  /** Of each statement, as texts: made before anything is sent, so that what cannot be one stops nothing half-way. */
  readonly #values: readonly (string | null)[][]
  readonly #prepared: PreparedStatement[] = []
  readonly #results: RoundTripResult[] = []
  #columns: readonly Column[] = []
  #rows: Record<string, unknown>[] = []

  constructor(private readonly options: RoundTripOptions) {
    this.#values = options.statements.map(({ parameters }) => parameters.map(toText))
  }

  submit(connection: pg.Connection): void {
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
      // Whether the name is taken is not known after a failure; closing what is not there is no error.
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
    const { parserOf } = this.options
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) }))
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#rows.push(toRow(this.#current.columns ?? this.#columns, fields))
  }

  /** @param message its text is the kind of the statement and, where there is one, the number of rows: `INSERT 0 5` */
  handleCommandComplete({ text }: { readonly text: string }): void {
    const current = this.#current
    if (current.name !== '') current.columns ??= this.#columns
    const count = Number.parseInt(text.slice(text.lastIndexOf(' ') + 1), 10)
    this.#results.push({ rows: this.#rows, count: Number.isNaN(count) ? 0 : count })
    this.#columns = []
    this.#rows = []
  }

  handleReadyForQuery(): void {
    this.options.resolve(this.#results)
  }

  handleError(error: unknown): void {
    this.options.reject(error)
  }
}

function toRow(columns: readonly Column[], fields: readonly (string | null)[]) {
  const row: Record<string, unknown> = {}
  for (const [index, { name, parse }] of columns.entries()) {
    const text = fields[index] ?? null
    row[name] = text === null ? null : parse(text)
  }
  return row
}

function preparedStatement(connection: pg.Connection, sql: string): PreparedStatement {
  const known = preparedOn.get(connection) ?? new Map<string, PreparedStatement>()
  preparedOn.set(connection, known)
  const prepared = known.get(sql) ?? { name: known.size < maxPrepared ? `x${known.size}` : '' }
  if (prepared.name !== '') known.set(sql, prepared)
  return prepared
}

function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return Array.isArray(value) ? `{${value.map(elementText).join(',')}}` : String(value)
}

/** An element of an array of texts. */
function elementText(value: string | null): string {
  if (value === null) return 'null'
  return /["\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`
}
