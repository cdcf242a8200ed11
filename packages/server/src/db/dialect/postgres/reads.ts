/**
 * Combines reads that arrive together. A statement over a socket costs both sides many times the
 * work of the database. So calls of one statement from the same turn of the event loop, and those
 * that arrive during earlier ones, become a single statement, which runs the original once for each
 * row of arrays of parameters.
 */
import { type Row, rowMaker } from '../../rows.js'
import { encodeArray, rowsOfArrays } from './arrays.js'

/** A statement with parameters $1, $2 and so on. */
export interface ReadQuery {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

/** Rows as values in the order of the columns. */
export interface ReadRows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
}

type ParameterType = 'text' | 'bigint'

interface WaitingRead {
  readonly parameters: readonly unknown[]
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

interface CombinedStatement {
  readonly sql: string
  readonly types: readonly ParameterType[]
  /** The statement over arrays; its first column is the number of the call. */
  readonly combined: string
  readonly waiting: WaitingRead[]
  running: number
}

/** The most calls that share a statement, so that no call waits long for the others. */
const maxCombined = 32
/**
 * The most runs of a statement at once; more calls wait and are combined. With four a call costs a
 * tenth more on both sides.
 */
const maxRunning = 2
const maxStatements = 200

/** Runs reads with the same SQL text that are requested together as one statement. */
export class CombinedReads {
  readonly #statements = new Map<string, CombinedStatement>()
  #scheduled: CombinedStatement[] = []

  constructor(private readonly run: (query: ReadQuery) => Promise<ReadRows>) {}

  /** Runs a statement with parameters $1, $2 and so on. */
  all(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    const statement = this.#statementFor(sql, parameters)
    if (!statement) return this.#alone(sql, parameters)
    return new Promise((resolve, reject) => {
      statement.waiting.push({ parameters, resolve, reject })
      this.#schedule(statement)
    })
  }

  /** @returns null when the call cannot be combined with others */
  #statementFor(sql: string, parameters: readonly unknown[]): CombinedStatement | null {
    const known = this.#statements.get(sql)
    if (known)
      return parameters.every((value, index) => typeOf(value) === known.types[index]) ? known : null
    const types = parameters.map(typeOf).filter((type) => type !== null)
    if (
      types.length === 0 ||
      types.length < parameters.length ||
      this.#statements.size >= maxStatements
    )
      return null
    const made: CombinedStatement = {
      sql,
      types,
      combined: combine(sql, types),
      waiting: [],
      running: 0,
    }
    this.#statements.set(sql, made)
    return made
  }

  #schedule(statement: CombinedStatement): void {
    if (statement.running >= maxRunning || this.#scheduled.includes(statement)) return
    // After the input of this turn, so that calls which arrived together are combined.
    if (this.#scheduled.push(statement) === 1) setImmediate(() => this.#start())
  }

  #start(): void {
    const ready = this.#scheduled
    this.#scheduled = []
    for (const statement of ready) {
      while (statement.waiting.length > 0 && statement.running < maxRunning) {
        statement.running++
        void this.#answer(statement, statement.waiting.splice(0, maxCombined)).then(() => {
          statement.running--
          if (statement.waiting.length > 0) this.#schedule(statement)
        })
      }
    }
  }

  async #answer(statement: CombinedStatement, calls: readonly WaitingRead[]): Promise<void> {
    const [only] = calls
    if (calls.length > 1) {
      try {
        const parameters = statement.types.map((type, index) =>
          encodeArray(
            type,
            calls.map((call) => call.parameters[index]),
          ),
        )
        const answers = split(await this.run({ sql: statement.combined, parameters }), calls.length)
        for (const [index, call] of calls.entries()) call.resolve(answers[index] as Row[])
      } catch (error) {
        if (isErrorOfParameters(error)) {
          // Each call alone shows which one has the error.
          for (const call of calls) await this.#answer(statement, [call])
        } else {
          for (const call of calls) call.reject(error)
        }
      }
    } else if (only) {
      await this.#alone(statement.sql, only.parameters).then(only.resolve, only.reject)
    }
  }

  async #alone(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    const { columns, rows } = await this.run({ sql, parameters })
    return rows.map(rowMaker(columns))
  }
}

/** SQLSTATE classes: cardinality violation, data exception, syntax error or access rule violation. */
function isErrorOfParameters(error: unknown): boolean {
  return /^(21|22|42)[0-9A-Z]{3}$/.test(String((error as { code?: unknown } | null)?.code ?? ''))
}

function typeOf(value: unknown): ParameterType | null {
  if (typeof value === 'string') return 'text'
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? 'bigint' : null
}

function combine(sql: string, types: readonly ParameterType[]): string {
  const parameters = Object.fromEntries(types.map((type, index) => [`p${index + 1}`, type]))
  const calls = rowsOfArrays(parameters, { place: 'n' })
  const each = sql.replace(/\$(\d+)/g, 'call.p$1')
  // `offset 0` keeps the planner from taking the statement apart, which could make one large join
  // of many small look-ups.
  return `select call.n, answer.* from ${calls} as call cross join lateral (${each} offset 0) as answer`
}

/** The rows of each call, without the number of the call. */
function split({ columns, rows }: ReadRows, calls: number): Row[][] {
  const answers: Row[][] = Array.from({ length: calls }, () => [])
  const toRow = rowMaker(columns, 1)
  for (const values of rows) answers[(values[0] as number) - 1]?.push(toRow(values))
  return answers
}
