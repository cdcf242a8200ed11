import {
  type DeviceEventKind,
  deviceEventKinds,
  eventFrame,
  failureFrame,
  heartbeatFrame,
  sessionClosingFrame,
  syncNeededFrame,
} from '@hermod/protocol/gateway'
import type { GatewayFrame } from './frame.js'

/** The keywords that frames of the server use. */
interface FrameSchema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly FrameSchema[]
  readonly items?: FrameSchema
  readonly properties?: Readonly<Record<string, FrameSchema>>
  readonly required?: readonly string[]
  /** True for an object whose members are those of an application. */
  readonly additionalProperties?: boolean
}

const eventFrames = new Map<string, FrameSchema>(
  deviceEventKinds.map((kind: DeviceEventKind) => [kind, eventFrame(kind) as FrameSchema]),
)
eventFrames.set('sync.needed', syncNeededFrame as FrameSchema)
eventFrames.set('session.closing', sessionClosingFrame as FrameSchema)

/** Returns what in a frame differs from the contract, or null. Unknown kinds and members differ. */
export function frameFault(frame: GatewayFrame): string | null {
  const { id, code, event } = frame
  // Answers of operations are checked by the server itself.
  if (id !== undefined)
    return code === 200 ? null : faultOf(frame, failureFrame as FrameSchema, 'failure')
  if (event === undefined) return faultOf(frame, heartbeatFrame as FrameSchema, 'heartbeat')
  const schema = eventFrames.get(event)
  return schema ? faultOf(frame, schema, event) : `${event} is no kind of event`
}

function faultOf(value: unknown, schema: FrameSchema, path: string): string | null {
  if (schema.anyOf) {
    const faults = schema.anyOf.map((option) => faultOf(value, option, path))
    return faults.includes(null) ? null : (faults[0] ?? null)
  }
  if (schema.const !== undefined && value !== schema.const) return `${path} is not ${schema.const}`
  if (schema.enum && !schema.enum.includes(value)) return `${path} is none of ${schema.enum}`
  if (schema.type !== undefined && !isOfType(value, schema.type))
    return `${path} is no ${schema.type}`
  if (schema.items) return itemFault(value as unknown[], schema.items, path)
  return schema.type === 'object' ? memberFault(value as object, schema, path) : null
}

function itemFault(values: readonly unknown[], schema: FrameSchema, path: string): string | null {
  for (const [index, value] of values.entries()) {
    const fault = faultOf(value, schema, `${path}[${index}]`)
    if (fault !== null) return fault
  }
  return null
}

function memberFault(
  value: object,
  { properties = {}, required = [], additionalProperties }: FrameSchema,
  path: string,
): string | null {
  const missing = required.find((name) => !(name in value))
  if (missing !== undefined) return `${path}.${missing} is missing`
  for (const [name, member] of Object.entries(value)) {
    const schema = properties[name]
    const fault = schema
      ? faultOf(member, schema, `${path}.${name}`)
      : additionalProperties === true
        ? null
        : `${path}.${name} is not in the contract`
    if (fault !== null) return fault
  }
  return null
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value)
    case 'integer':
      return typeof value === 'bigint' || Number.isSafeInteger(value)
    default:
      return typeof value === type
  }
}
