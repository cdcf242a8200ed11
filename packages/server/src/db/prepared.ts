/** Statements that are built with Kysely and compiled once. */
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import type { SqlDialect } from './dialect/dialect.js'
import type { CompiledQuery } from './kysely.js'
import type { Queryable } from './transaction.js'

class Placeholder {
  constructor(readonly name: string) {}
}

/** Stands for a value that is given when the statement runs. */
export type Param<P extends object> = <K extends keyof P & string>(name: K) => P[K]

/** The {@link Param} of every statement. */
export const placeholder = (name: string): unknown => new Placeholder(name)

/** The database that runs prepared statements. */
export interface PreparedTarget {
  readonly reader: Queryable
  readonly dialect: Pick<SqlDialect, 'readNow' | 'numbersParameters'>
}

/**
 * A compiled statement. Compiling costs more than running it, which shows in a call that does
 * little else.
 */
export class Prepared<P extends object, Row> {
  readonly #compiled: CompiledQuery<Row>
  /** For each parameter its name, or null for a constant. */
  readonly #names: readonly (string | null)[]

  constructor(
    compiled: CompiledQuery<Row>,
    private readonly database: PreparedTarget,
  ) {
    this.#compiled = database.dialect.numbersParameters ? sharingParameters(compiled) : compiled
    this.#names = this.#compiled.parameters.map(placeholderName)
  }

  all(executor: Queryable, params: P): MaybePromise<Row[]> {
    const given = params as Record<string, unknown>
    const parameters = this.#names.map((name, index) =>
      name === null ? this.#compiled.parameters[index] : given[name],
    )
    const { reader, dialect } = this.database
    if (executor !== reader)
      return executor.executeQuery<Row>({ ...this.#compiled, parameters }).then(({ rows }) => rows)
    try {
      return dialect.readNow(this.#compiled.sql, parameters) as MaybePromise<Row[]>
    } catch (error) {
      return Promise.reject(error)
    }
  }

  first(executor: Queryable, params: P): MaybePromise<Row | null> {
    return thenMaybe(this.all(executor, params), (rows) => rows[0] ?? null)
  }
}

function placeholderName(parameter: unknown): string | null {
  return parameter instanceof Placeholder ? parameter.name : null
}

/** Passes a value once that stands in several places of a statement. */
function sharingParameters<Row>(compiled: CompiledQuery<Row>): CompiledQuery<Row> {
  const names = compiled.parameters.map(placeholderName)
  const places = names.map((name, place) => (name === null ? place : names.indexOf(name)))
  const kept = [...new Set(places)]
  const numbered = (_: string, number: string) =>
    `$${kept.indexOf(places[Number(number) - 1] as number) + 1}`
  return {
    ...compiled,
    sql: compiled.sql.replace(/\$(\d+)/g, numbered),
    parameters: kept.map((place) => compiled.parameters[place]),
  }
}

/** The statements of a page, one for each length; the caller bounds the lengths. */
export class PreparedPage<P extends object, Row> {
  readonly #statements = new Map<number, Prepared<P, Row>>()

  constructor(private readonly prepare: (limit: number) => Prepared<P, Row>) {}

  all(
    executor: Queryable,
    { limit, ...params }: P & { readonly limit: number },
  ): MaybePromise<Row[]> {
    const known = this.#statements.get(limit) ?? this.prepare(limit)
    this.#statements.set(limit, known)
    return known.all(executor, params as unknown as P)
  }
}
