/**
 * Commands as tables of fields. Each field declares its argument or option once, which gives the
 * help, the type of the value, the parameter of the operation and the name in failures.
 */
import type { Operation } from '@hermod/protocol'
import { Argument, type Command, Option } from 'commander'
import { CommandFailure } from './call.js'
import { type CommandContext, type CommonOptions, operatingCommand, parseId } from './command.js'
import { readInput } from './files.js'
import type { OptionNames } from './option-names.js'

/** A field of a command; undefined = its option is not given. */
export interface Field<V> {
  /** The name in failures, such as `--batch-size`. */
  readonly name: string
  readonly part: Argument | Option
  /** Reads what the argument or option gave. */
  read(given: unknown, context: CommandContext): V | Promise<V>
  readonly isFile: boolean
}

/** Fields by their names on the wire. */
export type Fields = Readonly<Record<string, Field<unknown>>>

/** The values of the fields that are given. */
export type ValuesOf<F extends Fields> = {
  readonly [K in keyof F as undefined extends ValueOf<F[K]> ? never : K]: ValueOf<F[K]>
} & {
  readonly [K in keyof F as undefined extends ValueOf<F[K]> ? K : never]?: Exclude<
    ValueOf<F[K]>,
    undefined
  >
}
type ValueOf<T> = T extends Field<infer V> ? V : never

/** The options of a call as commander parsed them. */
export type GivenOptions = CommonOptions & Readonly<Record<string, unknown>>

type Parse<V> = (text: string, before: V | undefined) => V

function field<V>(part: Argument | Option, name: string): Field<V> {
  return { name, part, read: (given) => given as V, isFile: false }
}

/** An argument, such as `<name>`. */
export function argument(usage: string, help?: string): Field<string>
export function argument<V>(usage: string, help: string, parse: Parse<V>): Field<V>
export function argument<V>(usage: string, help?: string, parse?: Parse<V>): Field<V> {
  const part = new Argument(usage, help)
  return field(parse ? part.argParser(parse) : part, usage)
}

/** An option with a value. */
export function option(flags: string, help: string): Field<string | undefined>
export function option<V>(flags: string, help: string, parse: Parse<V>): Field<V | undefined>
export function option<V>(flags: string, help: string, parse?: Parse<V>): Field<V | undefined> {
  const part = new Option(flags, help)
  return field(parse ? part.argParser(parse) : part, part.long ?? flags)
}

/** An option without a value. */
export function flag(flags: string, help: string): Field<true | undefined> {
  return field(new Option(flags, help), flags)
}

/** An option with one of a list of values. */
export function choice<const V extends string>(
  flags: string,
  help: string,
  values: readonly V[],
): Field<V | undefined> {
  const part = new Option(flags, help).choices(values)
  return field(part, part.long ?? flags)
}

/** The option, which must be given. */
export function required<V>(field: Field<V | undefined>): Field<V> {
  if (field.part instanceof Option) field.part.makeOptionMandatory()
  return field as Field<V>
}

/** The option with a default. */
export function byDefault<V>(field: Field<V | undefined>, value: V): Field<V> {
  field.part.default(value)
  return field as Field<V>
}

/** The field with another value, which is made when the command runs. */
export function readAs<G, V>(
  field: Field<G | undefined>,
  read: (given: G, context: CommandContext) => V | Promise<V>,
): Field<V | undefined> {
  return { ...field, read: (given, context) => read(given as G, context) }
}

/** An option that names a file, with its contents as the value; `-` is standard input. */
export function fileOption<V>(
  flags: string,
  help: string,
  read: (bytes: Buffer, file: string, context: CommandContext) => V,
): Field<V | undefined> {
  const file = readAs(option(flags, help), async (path, context) =>
    read(await readInput(path, context), path, context),
  )
  return { ...file, isFile: true }
}

/** The application of a command about one. */
export const app: Field<string> = {
  ...required(option('--app <app_id>', 'the application')),
  name: 'the application of --app',
}

/** The fields of a list with pages. */
export const page = {
  limit: byDefault(option('--limit <number>', 'at most this many, up to 200', parseId), 50),
  cursor: option('--after <cursor>', 'where the list before this one ended'),
}

/** Returns the end of a page of a list. */
export function moreText({ next_cursor }: { readonly next_cursor: string }): string {
  return next_cursor === '' ? '' : `\n\nThere are more: --after ${next_cursor}`
}

/** Returns the names of fields in failures. */
export function namesOf(fields: Fields): OptionNames {
  return Object.fromEntries(Object.entries(fields).map(([key, { name }]) => [key, name]))
}

/** Adds the arguments and options of the fields to a command, and its action. */
export function commandOf<F extends Fields>(
  command: Command,
  context: CommandContext,
  fields: F,
  act: (values: ValuesOf<F>, options: GivenOptions) => Promise<void>,
): Command {
  for (const { part } of Object.values(fields))
    if (part instanceof Argument) command.addArgument(part)
    else command.addOption(part)
  return command.action(async () => {
    await act(await readFields(fields, command, context), command.opts())
  })
}

async function readFields<F extends Fields>(
  fields: F,
  command: Command,
  context: CommandContext,
): Promise<ValuesOf<F>> {
  const args = [...command.processedArgs]
  const options: GivenOptions = command.opts()
  const given = Object.entries(fields).flatMap(([key, field]) => {
    const { part } = field
    const value = part instanceof Option ? options[part.attributeName()] : args.shift()
    return value === undefined ? [] : [{ key, field, value }]
  })
  for (const { field, value } of given) requireWholePath(field, value)
  if (given.filter(({ field, value }) => field.isFile && value === '-').length > 1)
    throw new CommandFailure('standard input holds one of them; give the others as files')
  const values: Record<string, unknown> = {}
  for (const { key, field, value } of given) values[key] = await field.read(value, context)
  return values as ValuesOf<F>
}

/** Shells leave `~` as it is in `--to=~/backups` and in quotes. @throws CommandFailure */
function requireWholePath({ name, part }: Field<unknown>, value: unknown): void {
  const isPath = part instanceof Option && /<(folder|file)>/.test(part.flags)
  if (isPath && typeof value === 'string' && value.startsWith('~/'))
    throw new CommandFailure(
      `${name} has a ~ that the shell has not replaced: ${value}; give the whole path`,
    )
}

/** A command that calls one operator operation and prints its answer. */
export type OperationCommand<F extends Fields, P, D> = {
  readonly name: string
  readonly description: string
  readonly operation: Operation<P, D>
  readonly fields: F
  /** It runs when no command of its parent is named. */
  readonly isDefault?: true
  /** Failures name the options and arguments in place of the fields. */
  readonly namesOptions?: true
  /** The answer for scripts; default: all of it. */
  shown?(answer: D): unknown
  /** The answer for people. */
  text(answer: D, values: ValuesOf<F>, options: GivenOptions): string
  /** Throws after the output where the answer is a failure of the command. */
  requireSuccess?(answer: D, values: ValuesOf<F>): void
} & Params<F, P>

/** `params` makes the parameters; without it they are the values of the fields. */
type Params<F extends Fields, P> =
  ValuesOf<F> extends P
    ? { readonly params?: (values: ValuesOf<F>) => P }
    : { readonly params: (values: ValuesOf<F>) => P }

/** Adds a command that calls one operator operation. */
export function operationCommand<F extends Fields, P, D>(
  parent: Command,
  context: CommandContext,
  spec: OperationCommand<F, P, D>,
): Command {
  const { name, description, operation, fields, isDefault = false } = spec
  const params = spec.params ?? ((values: ValuesOf<F>) => values as unknown as P)
  const command = operatingCommand(parent, name, description, { isDefault })
  return commandOf(command, context, fields, async (values, options) => {
    const names = spec.namesOptions ? namesOf(fields) : {}
    const answer = await context.operate(operation, params(values), options, names)
    context
      .printer(options)
      .print(spec.shown?.(answer) ?? answer, () => spec.text(answer, values, options))
    spec.requireSuccess?.(answer, values)
  })
}
