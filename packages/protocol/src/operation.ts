import type { CallerRule, CallerRules } from './callers.js'
import type { ErrorName } from './errors.js'
import type { GroupRightName } from './group-rights.js'
import type { Scope } from './scopes.js'
import type { Static, TProperties, TSchema, Type } from './schema.js'

/** Bytes of a body that one token of the limits pays for, unless an operation has a number of its own. */
export const bodyBytesPerToken = 4_096

/** The HTTP methods of operations. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The whole request body is one parameter: a bare string or a bare list without a field name. */
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
 * One operation of the API as data, the source of route, validation, reference and client types.
 *
 * @typeParam Params the decoded parameters, from query and body together
 * @typeParam Data the `data` member of a successful answer
 * @typeParam Extras other top-level members, such as cursor or msg_ids
 * @typeParam Rule the caller rule, which determines the type of the principal
 * @typeParam Id the name, by which clients find parameters and answer
 */
export interface Operation<
  Params = unknown,
  Data = unknown,
  Extras = unknown,
  Rule extends CallerRule = CallerRule,
  Id extends string = string,
> {
  /** Stable dotted name, used on the socket, in metrics and as operationId. */
  readonly id: Id
  readonly methods: readonly Method[]
  readonly path: string
  /** The operation's section in the reference. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly callers: Rule
  /** The scopes that an Admin token needs, all of them. Operations without Admin tokens have none. */
  readonly scopes: readonly Scope[]
  /** The required right in the group, for operations about a group. */
  readonly right?: GroupRightName
  /** Name of the parameter with a conversation, for operations with the caller rule `party`. */
  readonly conversation?: string
  /**
   * Parameters of which one must repeat the acting user or be absent, otherwise the call is refused
   * as no_permission. Empty: no such check. An Admin token that needs no user may state any.
   */
  readonly claims: readonly string[]
  /**
   * `query`: access-token and app_id may come in the query too, since elements of a page cannot
   * send headers. `ticket`: the parameter of this name is the only credential.
   */
  readonly credentials: 'headers' | 'query' | 'ticket'
  /**
   * Parameter that sdk_sign covers, where store_token and sdk_sign may replace access-token; null:
   * they may not.
   */
  readonly signedParameter: string | null
  /**
   * Parameters that the contract puts in the query. A scalar is accepted in a JSON body as well
   * (rule B3).
   */
  readonly query: TProperties
  /**
   * Parameters that the contract puts in the body. A scalar is accepted in the query as well (rule
   * B3).
   */
  readonly body: Body
  readonly data: TSchema
  readonly extras: TProperties
  /**
   * Errors particular to the operation. Errors of every call (parameters, tokens, limits) are not
   * repeated.
   */
  readonly errors: readonly ErrorName[]
  /** `extension`: not in the contract's own two documents. */
  readonly origin: 'contract' | 'extension' | 'operator'
  /** The success answer is a file, not an envelope. */
  readonly answersFile: boolean
  /**
   * The body is a form of at most `maxBytes` bytes with a file, and all parameters are in the
   * query; null: the body contains parameters.
   */
  readonly takesFile: { readonly maxBytes: number } | null
  /**
   * False: refused over the socket, as are operations with files and those of operators. `only`:
   * needs a session of the gateway.
   */
  readonly socket: boolean | 'only'
  /** False: calls count against the limits of the caller, not against that of the application. */
  readonly countsForApp: boolean
  /** A call may wait for an event. The wait ends when the caller has gone or the server stops. */
  readonly waits: boolean
  /**
   * A list in `data`, whose entries are the lines of the answer for callers that accept
   * `application/x-ndjson`; the last line has the other members. null: answers are JSON only.
   */
  readonly lines: string | null
  /** Bytes of a body that one token of the limits pays for. */
  readonly bodyBytesPerToken: number
  /** Texts that are stored once per entry of a list, which multiplies their cost; null: none. */
  readonly copied: readonly string[] | null
  /**
   * Checks that the schemas cannot express, on the parameters that could be decoded.
   * @returns the violations, each beginning with the name of the parameter
   */
  readonly violationsOf: ((params: Readonly<Record<string, unknown>>) => readonly string[]) | null
  /** Returns the error of a call with these violations; null: always invalid_parameter. */
  readonly errorOf: ((violations: readonly string[]) => ErrorName) | null
  /** Carries the types; never present at run time. */
  readonly types?: { readonly params: Params; readonly data: Data; readonly extras: Extras }
}

interface Definition<
  Id extends string,
  Q extends TProperties,
  B extends Body,
  D extends TSchema,
  X extends TProperties,
  R extends CallerRule,
> {
  readonly id: Id
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
  readonly socket?: Operation['socket']
  readonly countsForApp?: boolean
  readonly waits?: boolean
  readonly lines?: string
  readonly bodyBytesPerToken?: number
  readonly copied?: Operation['copied']
  readonly violationsOf?: Operation['violationsOf']
  readonly errorOf?: Operation['errorOf']
}

/** An operation names its scopes exactly where its callers include Admin tokens. */
type NamedScopes<R extends CallerRule> = R extends unknown
  ? 'admin' extends CallerRules[R]['tokens'][number]
    ? { readonly scopes: readonly Scope[] }
    : { readonly scopes?: never }
  : never

// biome-ignore lint/complexity/noBannedTypes: the empty set of properties is what an omitted part means
type None = {}

/** Defines an operation. Omitted parts are empty, and the default origin is the contract. */
export function operation<
  const Id extends string,
  Q extends TProperties = None,
  B extends Body = None,
  D extends TSchema = TSchema,
  X extends TProperties = None,
  R extends CallerRule = CallerRule,
>(
  definition: Definition<Id, Q, B, D, X, R> & NamedScopes<R>,
): Operation<ObjectOf<Q & FieldsOf<B>>, Static<D>, ObjectOf<X>, R, Id> {
  return {
    query: {},
    body: {},
    extras: {},
    errors: [],
    origin: 'contract',
    scopes: [],
    claims: [],
    credentials: 'headers',
    signedParameter: null,
    answersFile: false,
    takesFile: null,
    socket: true,
    countsForApp: true,
    waits: false,
    lines: null,
    bodyBytesPerToken,
    copied: null,
    violationsOf: null,
    errorOf: null,
    ...definition,
  }
}

/** Tests whether the body is one parameter without a field name. */
export function isWholeBody(body: Body): body is WholeBody {
  return typeof (body as WholeBody).whole === 'string'
}

/** The decoded parameters of an operation, from query and body together. */
export type ParamsOf<O> = O extends Operation<infer P, unknown, unknown> ? P : never
/** The `data` member of an operation's successful answer. */
export type DataOf<O> = O extends Operation<unknown, infer D, unknown> ? D : never
/** The members next to `data` in an operation's successful answer. */
export type ExtrasOf<O> = O extends Operation<unknown, unknown, infer X> ? X : never
