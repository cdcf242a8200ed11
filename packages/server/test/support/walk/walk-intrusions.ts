/** Calls of any operation with everything that looks like an ID set to what belongs to somebody else. */
import {
  isWholeBody,
  type Operation,
  object,
  type TProperties,
  type TSchema,
} from '@hermod/protocol'
import { sharedPassword } from '@hermod/testkit'
import { sample } from './parameter-values.js'
import type { Params } from './walk-world.js'

/** What a foreign caller is after. */
export interface Target {
  /** For every ID of nothing else. */
  readonly user: number
  readonly message: number
  readonly group: number
  readonly announcement: number
  readonly file: number
  readonly contentType: number
  /** Names of users, for look-ups. */
  readonly names: Readonly<Record<'username' | 'mobile' | 'email', string>>
}

interface Intent {
  readonly target: Target
  readonly newName: () => string
  readonly isFull: boolean
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

/** Required parameters only, all, and of a send all but what keeps it from being stored: another sender, nobody online, a repeat. */
export function intrusionsInto(
  operation: Operation,
  target: Target,
  newName: () => string,
): Params[] {
  const isLookUp = operation.methods[0] === 'GET' || operation.tag === 'Tokens'
  const variants = [true, false].map((isFull) =>
    parameters(operation, { target, newName, isFull, isLookUp }),
  )
  const hasSender = !isWholeBody(operation.body) && 'from_user_id' in operation.body
  return hasSender
    ? [
        ...variants,
        {
          ...variants[0],
          from_user_id: undefined,
          online_only: undefined,
          transaction_id: undefined,
        },
      ]
    : variants
}

function parameters({ query, body }: Operation, intent: Intent): Params {
  if (isWholeBody(body)) return { [body.whole]: value(body.whole, body.schema, intent) }
  return { ...properties(query, intent), ...properties(body, intent) }
}

function properties(schemas: TProperties, intent: Intent): Params {
  const required: readonly string[] = object(schemas).required ?? []
  const chosen = Object.entries(schemas).filter(
    ([name]) => name !== 'cursor' && (intent.isFull || required.includes(name)),
  )
  return Object.fromEntries(chosen.map(([name, schema]) => [name, value(name, schema, intent)]))
}

function value(name: string, schema: TSchema, intent: Intent): unknown {
  const { target } = intent
  if (schema.enum)
    return name === 'content_type' && schema.enum.includes(target.contentType)
      ? target.contentType
      : sample(schema)
  if (schema.type === 'array') return [value(name, schema.items, intent)]
  if (schema.type === 'object' && schema.properties) return properties(schema.properties, intent)
  if (schema.type === 'string') return textValue(name, schema, intent)
  if (schema.format !== 'int64' || schema.maximum !== undefined) return sample(schema)
  if (/msg|mid$/.test(name)) return target.message
  const kind = (['group', 'announcement', 'file'] as const).find((each) => name.startsWith(each))
  return target[kind ?? 'user']
}

function textValue(name: string, schema: TSchema, { target, newName, isLookUp }: Intent): unknown {
  if (/password/.test(name)) return sharedPassword
  const wanted = lookedUp[name]
  if (wanted && isLookUp) return target.names[wanted]
  if (name === 'email') return `${newName()}@example.org`
  return schema.pattern ? sample(schema) : newName()
}
