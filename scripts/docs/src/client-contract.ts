/**
 * The types of events as apps see them, as TypeScript with doc comments: public names, and words in
 * place of numbers. Pure, as the pages.
 */
import { deviceEventKinds, deviceEventSchemas } from '@hermod/protocol/gateway'
import { publicName } from '../../../packages/client/dist/wire/names.js'

const columns = 100

/** The parts of a JSON schema that the contract uses. */
interface Schema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[] | undefined
  readonly items?: Schema
  readonly enum?: readonly (string | number)[]
  readonly anyOf?: readonly Schema[]
}

/** Public types of members, by the name on the wire. */
const publicTypes: Readonly<Record<string, string>> = {
  conversation: 'ConversationRef',
  role: 'MemberRole',
  msg_mute_mode: 'MuteMode',
  msg_push_mode: 'PushMode',
}

/** Returns the source of the payloads of all events. */
export function renderClientContract(): string {
  const events: Schema = {
    type: 'object',
    description: 'Payload of each kind of event that devices get.',
    properties: Object.fromEntries(
      deviceEventKinds.map((kind) => [kind, deviceEventSchemas[kind] as Schema]),
    ),
    required: deviceEventKinds,
  }
  return [
    '/** Types of events for apps. Written by `npm run docs`; do not edit. */\n' +
      "import type { ConversationRef } from './api/conversation.js'\n" +
      "import type { MemberRole, MuteMode, PushMode } from './api/groups.js'\n" +
      "import type { MessageContent } from './api/message.js'",
    `${comment(events)}export interface ClientEvents ${objectOf(events, '')}\n`,
  ].join('\n\n')
}

/** The content of a message, which has a public form of its own. */
const content = ['content_type', 'content', 'attachment', 'config', 'ext']

function objectOf(schema: Schema, indent: string): string {
  if (!schema.properties?.content_type) return membersOf(schema, indent)
  const others = Object.entries(schema.properties).filter(([name]) => !content.includes(name))
  const members = membersOf({ ...schema, properties: Object.fromEntries(others) }, indent)
  return `MessageContent & ${members}`
}

function membersOf({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `
  const members = Object.entries(properties).map(([name, schema]) => {
    const key = /^\w+$/.test(name) ? publicName(name) : `'${name}'`
    const mark = required.includes(name) ? '' : '?'
    const type = publicTypes[name] ?? typeOf(schema, inner)
    const space = type.startsWith('\n') ? '' : ' '
    return `${comment(schema, inner)}${inner}readonly ${key}${mark}:${space}${type}\n`
  })
  return `{\n${members.join('')}${indent}}`
}

function typeOf(schema: Schema, indent: string): string {
  const { type, properties, items, anyOf } = schema
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  if (anyOf) return unionOf(anyOf, indent)
  if (type === 'array') return arrayOf(typeOf(items ?? {}, indent))
  if (type === 'object')
    return properties ? objectOf(schema, indent) : 'Readonly<Record<string, unknown>>'
  if (type === 'integer' || type === 'number') return 'number'
  return type === 'string' || type === 'boolean' || type === 'null' ? type : 'unknown'
}

/** On one line, or as the formatter writes objects among its options. */
function unionOf(options: readonly Schema[], indent: string): string {
  const [only, ...others] = options.filter(({ type }) => type !== 'null')
  if (only?.type === 'object' && others.length === 0 && options.length > 1)
    return `${typeOf(only, indent)} | null`
  const types = options.map((each) => typeOf(each, `${indent}    `))
  return types.some((type) => type.includes('\n'))
    ? types.map((type) => `\n${indent}  | ${type}`).join('')
    : types.join(' | ')
}

const literal = (value: string | number) => (typeof value === 'string' ? `'${value}'` : `${value}`)

function arrayOf(item: string): string {
  return `readonly ${/ \| /.test(item) && !item.startsWith('{') ? `(${item})` : item}[]`
}

/** Takes the meanings of numbers out: the type has their words. */
function withoutNumbers(description: string): string {
  return description
    .replace(/\.?: 0 \w+(?:, \d \w+)*$/, '.')
    .replace('0 = none, -1 = permanent', '0: none, infinite: permanent')
    .replace(/ as \/user\/settings names them/, '')
}

/** One line, or wrapped at 100 columns. */
function comment({ description }: Schema, indent = ''): string {
  if (description === undefined) return ''
  const text = withoutNumbers(description).replaceAll('*/', '*\\/')
  const line = `${indent}/** ${text} */`
  if (line.length <= columns) return `${line}\n`
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) as string
    if (last.length + word.length + indent.length + ' * '.length < columns)
      lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
    else lines.push(word)
  }
  return `${indent}/**\n${lines.map((each) => `${indent} * ${each}\n`).join('')}${indent} */\n`
}
