/**
 * Calls of any operation whose parameters name what is not the caller's, wherever the definition
 * has such a name.
 */
import {
  isWholeBody,
  type LogHead,
  type Operation,
  object,
  type TProperties,
  type TSchema,
} from '@hermod/protocol'
import { sharedPassword } from '@hermod/testkit'
import { sample } from './parameter-values.js'
import { holdsName, namedKind } from './walk-names.js'
import type { Params } from './walk-world.js'

/** What a foreign caller is after. */
export interface Target {
  readonly user: number
  readonly log: LogHead['log']
  readonly conversation: number
  readonly recipient: { readonly id: number; readonly isGroup: boolean }
  readonly message: number
  readonly group: number
  readonly announcement: number
  readonly file: number
  readonly task: number
  readonly device: number
  readonly endpoint: number
  readonly contentType: number
  readonly cursor?: string | undefined
  readonly pos?: string | undefined
  /** Names of users, for look-ups. */
  readonly names: Readonly<Record<'username' | 'mobile' | 'email', string>>
}

interface Intent {
  readonly operation: Operation
  readonly target: Target
  readonly newName: () => string
  /** Selects optional parameters. */
  readonly has: (name: string, schema: TSchema) => boolean
  /** Names that somebody has are taken; only look-ups and logins have a use for them. */
  readonly isLookUp: boolean
}

const lookedUp: Readonly<Record<string, keyof Target['names']>> = {
  username: 'username',
  name: 'username',
  login_name: 'username',
  mobile: 'mobile',
  email: 'email',
}
/** Places in a log; 0 is its start, or its end. */
const places = ['after_change', 'before_seq', 'change']
/** Parameters that keep a send from being stored: another sender, nobody online, a repeat. */
const withoutEffect = ['from_user_id', 'online_only', 'transaction_id']

/** A call that names what is not the caller's. */
export interface Intrusion {
  readonly form: string
  readonly params: Params
}

/**
 * Calls with each form of the names, each once: with required parameters only; with all that name
 * something; with each of these that is optional alone. For the first form also with all
 * parameters, since those that name nothing make no difference.
 */
export function intrusionsInto(
  operation: Operation,
  forms: Readonly<Record<string, Target>>,
  newName: () => string,
): Intrusion[] {
  const isLookUp = operation.methods[0] === 'GET' || operation.tag === 'Tokens'
  const seen = new Set<string>()
  return Object.entries(forms).flatMap(([form, target], index) =>
    choicesOf(operation, index === 0).flatMap((has) => {
      const intent = { operation, target, has, isLookUp }
      const key = JSON.stringify(parameters({ ...intent, newName: () => 'a_name' }))
      if (seen.has(key)) return []
      seen.add(key)
      return [{ form, params: parameters({ ...intent, newName }) }]
    }),
  )
}

/** The choices of optional parameters. */
function choicesOf(operation: Operation, isWide: boolean): Intent['has'][] {
  const isName = (name: string, schema: TSchema) => holdsName(operation, name, schema)
  const required = requiredIn(operation)
  const optional = Object.entries(propertiesOf(operation))
    .filter(([name, schema]) => isName(name, schema) && !required.includes(name))
    .map(([name]) => name)
  const alone = optional.map(
    (one) => (name: string, schema: TSchema) =>
      name === one || (!optional.includes(name) && isName(name, schema)),
  )
  const wide = [() => true, (name: string) => !withoutEffect.includes(name)]
  return [() => false, isName, ...alone, ...(isWide ? wide : [])]
}

function propertiesOf({ query, body }: Operation): TProperties {
  return isWholeBody(body) ? {} : { ...query, ...body }
}

function requiredIn({ query, body }: Operation): readonly string[] {
  return isWholeBody(body)
    ? []
    : [query, body].flatMap((each) => object(each).required ?? ([] as string[]))
}

function parameters(intent: Intent): Params {
  const { query, body } = intent.operation
  if (isWholeBody(body)) return { [body.whole]: value(body.whole, body.schema, intent) }
  return { ...properties(query, intent), ...properties(body, intent) }
}

function properties(schemas: TProperties, intent: Intent): Params {
  const required: readonly string[] = object(schemas).required ?? []
  const chosen = Object.entries(schemas).filter(
    ([name, schema]) => required.includes(name) || intent.has(name, schema),
  )
  return Object.fromEntries(chosen.map(([name, schema]) => [name, value(name, schema, intent)]))
}

function value(name: string, schema: TSchema, intent: Intent): unknown {
  const { operation, target } = intent
  if (schema.enum) return enumerated(name, schema, target)
  if (places.includes(name)) return 0
  if (schema.type === 'array') return [value(name, schema.items, intent)]
  const kind = namedKind(operation, name, schema)
  switch (kind) {
    case 'recipient':
      return target.recipient.id
    case 'cursor':
    case 'pos':
      return target[kind] ?? ''
    case 'device':
      return schema.type === 'string' ? intent.newName() : target.device
    case 'file':
      return schema.type === 'string' ? `${target.file}` : target.file
    case 'log':
    case 'conversation':
    case 'message':
    case 'group':
    case 'user':
    case 'announcement':
    case 'task':
    case 'endpoint':
      return target[kind]
  }
  if (schema.type === 'object' && schema.properties) return properties(schema.properties, intent)
  return schema.type === 'string' ? textValue(name, schema, intent) : sample(schema)
}

function enumerated(name: string, schema: TSchema, { contentType, recipient }: Target): unknown {
  const wanted = { content_type: contentType, to_type: recipientType(recipient) }
  const isSend = schema.enum.length === 2 && name === 'type'
  const asked = isSend ? recipientType(recipient) : wanted[name as keyof typeof wanted]
  return schema.enum.includes(asked) ? asked : sample(schema)
}

const recipientType = ({ isGroup }: Target['recipient']) => (isGroup ? 2 : 1)

function textValue(name: string, schema: TSchema, { target, newName, isLookUp }: Intent): unknown {
  if (/password/.test(name)) return sharedPassword
  const wanted = lookedUp[name]
  if (wanted && isLookUp) return target.names[wanted]
  if (name === 'email') return `${newName()}@example.org`
  return schema.pattern ? sample(schema) : newName()
}
