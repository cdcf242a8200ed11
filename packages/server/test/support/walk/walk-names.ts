/**
 * The parameters that name something, found in the definitions, so that calls can put what is not
 * theirs into any of them.
 */
import {
  callerRules,
  isWholeBody,
  listPushTaskStatistics,
  type Operation,
  type TProperties,
  type TSchema,
} from '@hermod/protocol'

/** `recipient`: a user or a group, as another parameter says. `operators`: what operators alone may name. */
export type NamedKind =
  | 'log'
  | 'conversation'
  | 'recipient'
  | 'message'
  | 'group'
  | 'user'
  | 'announcement'
  | 'file'
  | 'task'
  | 'device'
  | 'endpoint'
  | 'cursor'
  | 'pos'
  | 'secret'
  | 'operators'

const namesByKind: Readonly<Record<Exclude<NamedKind, 'log'>, readonly string[]>> = {
  conversation: ['conversation_id', 'opposite_id'],
  recipient: ['targets', 'to_id'],
  message: ['msg_id', 'msg_id_start', 'related_mid', 'reply_to'],
  group: ['group_id', 'group_list'],
  user: [
    ...['user_id', 'user_ids', 'user_list', 'list', 'id', 'roster_id', 'cid'],
    ...['from_user_id', 'new_owner', 'receivers', 'sender_id', 'peer_id', 'owner_id'],
  ],
  announcement: ['announcement_id'],
  file: ['file_id', 'file_list'],
  task: ['task_id', 'task_ids'],
  device: ['device_sn', 'deviceSn', 'device_guid'],
  endpoint: ['endpoint_id'],
  cursor: ['cursor'],
  pos: ['after'],
  // Texts that cannot be guessed; file-rights.test.ts and group-qr.test.ts have them.
  secret: ['file_sign', 'sdk_sign', 'sign', 'ticket'],
  operators: ['token_id', 'event_id', 'node_id', 'job_id', 'conversation'],
}

const kindsByName: ReadonlyMap<string, NamedKind> = new Map(
  Object.entries(namesByKind).flatMap(([kind, names]) =>
    names.map((name) => [name, kind as NamedKind] as const),
  ),
)

/**
 * Integers that name nothing: numbers of changes, positions, times, sizes, and an ID that the
 * caller chooses.
 */
const quantities = new Set([
  ...['after_change', 'before_seq', 'change', 'seq', 'version', 'transaction_id', 'duration'],
  ...['created_at', 'edit_timestamp', 'dismissal_date', 'expires_at', 'stale_date', 'index'],
  ...['show_begin_time', 'show_end_time', 'joined_at', 'last_read', 'at', 'capacity'],
  ...['group.file.upload size', 'group.settings.capacity value'],
  ...['webhook.replay from', 'webhook.replay to', 'file_max_bytes', 'file_quota_bytes'],
  ...['operator.webhook.replay from', 'operator.webhook.replay to'],
])

/** Texts that end like names: of the application, of its certificates, and of the caller's own choice. */
const ownTexts = new Set([
  ...['app_id', 'gateway_app_id', 'receipt_id', 'channel_id', 'thread_id', 'request_id'],
  ...['ios_gw_collapse_id', 'id', 'external_id', 'external_ids'],
])

/**
 * Texts that users give and that name nothing, names of users for logins and look-ups, and texts
 * that cannot be guessed.
 */
const userTexts = new Set([
  ...['content', 'attachment', 'config', 'ext', 'title', 'reason', 'name', 'value', 'type', 'url'],
  ...['username', 'login_name', 'mobile', 'email', 'nick_name', 'avatar', 'description'],
  ...['private_info', 'public_info', 'alias', 'auth_question', 'auth_answer', 'tags'],
  ...['password', 'old_password', 'new_password', 'push_nick_name', 'push_token'],
  ...['issuer', 'subject', 'assertion', 'proof', 'user_agent', 'text', 'state'],
  ...['device_token', 'notifier_name', 'object_name', 'store_token', 'qr_info', 'source', 'key'],
])

/** A parameter, or a part of one, that looks like a name. */
export interface NameLike {
  readonly path: string
  /** undefined: neither known as a name nor as something else. */
  readonly kind: NamedKind | null | undefined
}

/** The kind of what a parameter names; null when it names nothing, undefined when that is not known. */
export function namedKind(
  operation: Operation,
  name: string,
  schema: TSchema,
): NamedKind | null | undefined {
  if (schema.type === 'object') return schema.properties?.low_id ? 'log' : null
  if (schema.enum || schema.type === 'boolean') return null
  if (name === 'list' && (operation as unknown) === listPushTaskStatistics) return 'task'
  const isQuantity = quantities.has(name) || quantities.has(`${operation.id} ${name}`)
  if (schema.type === 'integer' && isQuantity) return null
  if (schema.type === 'string' && (ownTexts.has(name) || name === 'list')) return null
  return kindsByName.get(name) ?? (mayBeName(operation, name, schema) ? undefined : null)
}

/** A new text or integer of an operation for users may be a name, whatever it is called. */
function mayBeName({ callers }: Operation, name: string, schema: TSchema): boolean {
  if (/(id|ids|sn|guid|sign|ticket|cursor|mid)$/i.test(name)) return true
  if (schema.type === 'string')
    return callerRules[callers].tokens.some((kind) => kind === 'user') && !userTexts.has(name)
  return schema.format === 'int64'
}

/** All parts of the parameters of an operation that name something, or may. */
export function namesIn(operation: Operation): NameLike[] {
  const { query, body } = operation
  if (isWholeBody(body)) return namesOf(operation, body.whole, body.schema, body.whole)
  return [query, body].flatMap((each: TProperties) =>
    Object.entries(each).flatMap(([name, schema]) => namesOf(operation, name, schema, name)),
  )
}

/** Tests whether a parameter, or a part of it, names something. */
export function holdsName(operation: Operation, name: string, schema: TSchema): boolean {
  return namesOf(operation, name, schema, name).some(({ kind }) => kind)
}

function namesOf(operation: Operation, name: string, schema: TSchema, path: string): NameLike[] {
  if (schema.anyOf)
    return schema.anyOf.flatMap((each: TSchema) => namesOf(operation, name, each, path))
  if (schema.type === 'array') return namesOf(operation, name, schema.items, `${path}[]`)
  const kind = namedKind(operation, name, schema)
  if (kind !== null) return [{ path: `${operation.id} ${path}`, kind }]
  return Object.entries((schema.properties ?? {}) as TProperties).flatMap(([inner, each]) =>
    namesOf(operation, inner, each, `${path}.${inner}`),
  )
}
