import type { CallerRule } from './callers.js'
import type { ErrorName } from './errors.js'
import type { GroupRightName } from './group-rights.js'
import type { Static, TProperties, TSchema, Type } from './schema.js'

/** The HTTP methods of operations. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The whole request body is one parameter: a bare string or a bare list, without a field name around it. */
export interface WholeBody<Name extends string = string, Schema extends TSchema = TSchema> {
  readonly whole: Name
  readonly schema: Schema
}

/** The body parameters by name, or one parameter that is the whole body. */
export type Body = TProperties | WholeBody

type FieldsOf<B> =
  B extends WholeBody<infer Name, infer Schema>
    ? { [K in Name]: Schema }
    : B extends TProperties
      ? B
      : never
type ObjectOf<P extends TProperties> = Static<ReturnType<typeof Type.Object<P>>>

/**
 * One operation of the API, as data: what the route, the validation, the reference and the client types are made from.
 *
 * @typeParam Params the decoded parameters, from query and body together
 * @typeParam Data the `data` member of a successful answer
 * @typeParam Extras top-level members beside `data`, such as cursor or msg_ids
 * @typeParam Rule who may call it, from which the type of the principal follows
 */
export interface Operation<
  Params = unknown,
  Data = unknown,
  Extras = unknown,
  Rule extends CallerRule = CallerRule,
> {
  /** Stable dotted name, used on the socket, in metrics and as operationId. */
  readonly id: string
  readonly methods: readonly Method[]
  readonly path: string
  /** The section of the reference that the operation appears in. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly callers: Rule
  /** The right in the group that the operation needs, when it is about one. */
  readonly right?: GroupRightName
  /** The parameter that names a conversation, of operations with the caller rule `party`. */
  readonly conversation?: string
  /**
   * Parameters of which one must repeat the user that the call is about, else it is refused as no_permission; none where it is empty. An
   * Admin token that needs no user may claim any.
   */
  readonly claims: readonly string[]
  /**
   * `query`: access-token and app_id may come in the query too, for elements of a page, which cannot send headers. `ticket`: the parameter
   * of this name is the only credential.
   */
  readonly credentials: 'headers' | 'query' | 'ticket'
  /** The parameter that sdk_sign is about, where store_token and sdk_sign may take the place of access-token; null: they may not. */
  readonly signedParameter: string | null
  /** Parameters that the contract puts in the query. A scalar is accepted in a JSON body as well (rule B3). */
  readonly query: TProperties
  /** Parameters that the contract puts in the body. A scalar is accepted in the query as well (rule B3). */
  readonly body: Body
  readonly data: TSchema
  readonly extras: TProperties
  /** The errors that are particular to the operation; those of every call (parameters, tokens, limits) are not repeated. */
  readonly errors: readonly ErrorName[]
  /** `extension`: beyond the contract's own two documents. */
  readonly origin: 'contract' | 'extension' | 'operator'
  /** The success answer is a file and no envelope. */
  readonly answersFile: boolean
  /** The body is a form of at most so many bytes with a file, and all parameters are in the query; null: the body contains parameters. */
  readonly takesFile: { readonly maxBytes: number } | null
  /** The texts that are stored once for each entry of its list, so that they cost so much more; null: none. */
  readonly copied: readonly string[] | null
  /**
   * What the schemas of the parameters cannot say, of the parameters as far as they could be read.
   * @returns what is wrong, each beginning with the name of the parameter
   */
  readonly violationsOf: ((params: Readonly<Record<string, unknown>>) => readonly string[]) | null
  /** Carries the types; never present at run time. */
  readonly types?: { readonly params: Params; readonly data: Data; readonly extras: Extras }
}

interface Definition<
  Q extends TProperties,
  B extends Body,
  D extends TSchema,
  X extends TProperties,
  R extends CallerRule,
> {
  readonly id: string
  readonly methods: readonly Method[]
  readonly path: string
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly callers: R
  readonly right?: GroupRightName
  readonly conversation?: string
  readonly claims?: readonly string[]
  readonly credentials?: Operation['credentials']
  readonly signedParameter?: string
  readonly query?: Q
  readonly body?: B
  readonly data: D
  readonly extras?: X
  readonly errors?: readonly ErrorName[]
  readonly origin?: Operation['origin']
  readonly answersFile?: boolean
  readonly takesFile?: Operation['takesFile']
  readonly copied?: Operation['copied']
  readonly violationsOf?: Operation['violationsOf']
}

// biome-ignore lint/complexity/noBannedTypes: the empty set of properties is what an omitted part means
type None = {}

/** Defines an operation; parts that are left out are empty, and the origin is the contract. */
export function operation<
  Q extends TProperties = None,
  B extends Body = None,
  D extends TSchema = TSchema,
  X extends TProperties = None,
  R extends CallerRule = CallerRule,
>(
  definition: Definition<Q, B, D, X, R>,
): Operation<ObjectOf<Q & FieldsOf<B>>, Static<D>, ObjectOf<X>, R> {
  return {
    query: {},
    body: {},
    extras: {},
    errors: [],
    origin: 'contract',
    claims: [],
    credentials: 'headers',
    signedParameter: null,
    answersFile: false,
    takesFile: null,
    copied: null,
    violationsOf: null,
    ...definition,
  }
}

/** Whether the body is one parameter without a field name around it. */
export function isWholeBody(body: Body): body is WholeBody {
  return typeof (body as WholeBody).whole === 'string'
}

/** The decoded parameters of an operation, from query and body together. */
export type ParamsOf<O> = O extends Operation<infer P, unknown, unknown> ? P : never
/** The `data` member of an operation's successful answer. */
export type DataOf<O> = O extends Operation<unknown, infer D, unknown> ? D : never
/** The members that stand beside `data` in an operation's successful answer. */
export type ExtrasOf<O> = O extends Operation<unknown, unknown, infer X> ? X : never
