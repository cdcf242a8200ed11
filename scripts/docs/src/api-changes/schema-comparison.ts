/** Comparison of two schemas of one value, as clients of the earlier one see it. */
import { type JsonSchema, type OpenApiDocument, resolveSchema } from '@hermod/protocol/openapi'

/** `input`: what clients send, which must stay accepted. `output`: what they get. */
export type Direction = 'input' | 'output'

/** Bounds whose decrease refuses values that were accepted. */
const upperBounds = ['maximum', 'maxLength', 'maxItems', 'x-max-bytes']
const lowerBounds = ['minimum', 'minLength', 'minItems']
/** Keywords with rules of their own below, and those that are texts for people. */
const compared: ReadonlySet<string> = new Set([
  ...upperBounds,
  ...lowerBounds,
  ...['$ref', 'additionalProperties', 'anyOf', 'const', 'enum', 'format', 'items', 'pattern'],
  ...['properties', 'required', 'type'],
  ...['description', 'examples', 'title', 'x-form'],
])
/** Keywords that may be added: they accept more, or name what was so before. */
const mayBeAdded: ReadonlySet<string> = new Set(['default', 'x-item-list', 'x-look-up'])

/** Collects the changes of schemas that break clients. */
export class SchemaComparison {
  readonly changes: string[] = []
  /** Pairs of references that are compared already, since schemas may contain themselves. */
  readonly #seen = new Set<string>()

  constructor(
    private readonly direction: Direction,
    private readonly before: Pick<OpenApiDocument, 'components'>,
    private readonly after: Pick<OpenApiDocument, 'components'>,
  ) {}

  /** @param path names the value in sentences */
  compare(earlier: JsonSchema, later: JsonSchema, path: string): void {
    if (earlier.$ref !== undefined && later.$ref !== undefined) {
      const pair = `${path.includes('[]') ? '' : path} ${earlier.$ref} ${later.$ref}`
      if (this.#seen.has(pair)) return
      this.#seen.add(pair)
    }
    const known = optionsOf(earlier, this.before)
    const offered = optionsOf(later, this.after)
    this.#compareKinds(known, offered, path)
    for (const [kind, option] of known) {
      const now = offered.get(kind)
      if (now !== undefined) this.#compareOption(option, now, path)
    }
  }

  #compareKinds(known: Options, offered: Options, path: string): void {
    const [from, to] = this.direction === 'input' ? [known, offered] : [offered, known]
    const other = [...from.keys()].filter((kind) => !to.has(kind) && !to.has('any'))
    if (other.length === 0) return
    const [was, is] = [known, offered].map((options) => [...options.keys()].join(' or '))
    this.#report(path, `was ${was} and is ${is}`)
  }

  #compareOption(earlier: JsonSchema, later: JsonSchema, path: string): void {
    this.#compareFormats(earlier, later, path)
    this.#compareValues(earlier, later, path)
    if (this.direction === 'input') this.#compareBounds(earlier, later, path)
    if (earlier.items !== undefined && later.items !== undefined)
      this.compare(earlier.items, later.items, `${path}[]`)
    this.#compareMembers(earlier, later, path)
  }

  /** An input may become wider; an output is read by code that was made for its format. */
  #compareFormats(earlier: JsonSchema, later: JsonSchema, path: string): void {
    if (earlier.format === later.format) return
    if (this.direction === 'input' && later.format === 'int64') return
    this.#report(path, `was of format ${earlier.format} and is of ${later.format}`)
  }

  #compareValues(earlier: JsonSchema, later: JsonSchema, path: string): void {
    const [known, offered] = [valuesOf(earlier), valuesOf(later)]
    if (known === null) {
      if (offered !== null && this.direction === 'input')
        this.#report(path, `takes only ${offered.join(', ')}`)
      return
    }
    const lost = offered === null ? [] : known.filter((value) => !offered.includes(value))
    if (lost.length > 0) this.#report(path, `has no longer the value ${lost.join(', ')}`)
  }

  #compareBounds(earlier: JsonSchema, later: JsonSchema, path: string): void {
    const number = (schema: JsonSchema, bound: string, none: number) =>
      (schema[bound] as number | undefined) ?? none
    for (const bound of upperBounds)
      if (number(later, bound, Infinity) < number(earlier, bound, Infinity))
        this.#report(path, `${bound} is ${later[bound]} and was ${earlier[bound] ?? 'unlimited'}`)
    for (const bound of lowerBounds)
      if (number(later, bound, -Infinity) > number(earlier, bound, -Infinity))
        this.#report(path, `${bound} is ${later[bound]} and was ${earlier[bound] ?? 'unlimited'}`)
    if (later.pattern !== undefined && later.pattern !== earlier.pattern)
      this.#report(path, `must match ${later.pattern}`)
    if (later.additionalProperties === false && earlier.additionalProperties !== false)
      this.#report(path, 'refuses other members')
    this.#compareOthers(earlier, later, path)
  }

  /** Another default changes calls that leave the value out; the rest may narrow what is accepted. */
  #compareOthers(earlier: JsonSchema, later: JsonSchema, path: string): void {
    for (const keyword of new Set([...Object.keys(earlier), ...Object.keys(later)])) {
      const [was, is] = [earlier, later].map((schema) => JSON.stringify(schema[keyword]))
      if (was === is || compared.has(keyword)) continue
      if (was === undefined && mayBeAdded.has(keyword)) continue
      this.#report(path, `${keyword} is ${is ?? 'not set'} and was ${was ?? 'not set'}`)
    }
  }

  #compareMembers(earlier: JsonSchema, later: JsonSchema, path: string): void {
    const [known, offered] = [earlier.properties ?? {}, later.properties ?? {}]
    const [wasRequired, isRequired] = [earlier.required ?? [], later.required ?? []]
    for (const [name, schema] of Object.entries(known)) {
      const now = offered[name]
      if (now === undefined) this.#report(`${path}.${name}`, 'was removed')
      else this.compare(schema, now, `${path}.${name}`)
    }
    if (this.direction === 'input') {
      for (const name of isRequired.filter((each) => !wasRequired.includes(each)))
        this.#report(`${path}.${name}`, 'became required')
      return
    }
    for (const name of wasRequired.filter((each) => each in offered && !isRequired.includes(each)))
      this.#report(`${path}.${name}`, 'may be missing')
  }

  #report(path: string, change: string): void {
    this.changes.push(`${path} ${change}`.trim())
  }
}

/** The alternatives of a schema by their types; those of one type are numbered. */
type Options = ReadonlyMap<string, JsonSchema>

function optionsOf(
  schema: JsonSchema,
  { components }: Pick<OpenApiDocument, 'components'>,
): Options {
  const options = new Map<string, JsonSchema>()
  const freeName = (kind: string) => {
    let name = kind
    for (let number = 2; options.has(name); number++) name = `${kind} ${number}`
    return name
  }
  const add = (option: JsonSchema): void => {
    const resolved = resolveSchema(components.schemas, option)
    if (resolved.anyOf) for (const each of resolved.anyOf) add(each)
    else for (const kind of [resolved.type ?? 'any'].flat()) options.set(freeName(kind), resolved)
  }
  add(schema)
  return options
}

function valuesOf({ enum: values, const: value }: JsonSchema): readonly unknown[] | null {
  if (value !== undefined) return [value]
  return values ?? null
}
