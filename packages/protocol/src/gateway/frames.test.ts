import { describe, expect, it } from 'vitest'
import { errorCatalogue } from '../errors.js'
import { exampleValue, plainSchema } from '../json-schema.js'
import { operations } from '../operations/index.js'
import { type TProperties, type TSchema, Type } from '../schema.js'
import {
  callFrame,
  deviceEventKinds,
  deviceEventSchemas,
  eventFrame,
  type EventFrame,
  numberedEventKinds,
  sessionClosingFrame,
  sessionOpenErrors,
  sessionOpenParameters,
} from './index.js'

const reserved = ['id', 'op', 'code', 'message', 'event', 'pos', 'change']

function exampleOf(schema: TSchema): unknown {
  const schemas = {}
  return exampleValue(schemas, plainSchema(schema, schemas))
}

describe('the frames of the gateway', () => {
  it('name the kind of each event in `event`, with the payload in `data`', () => {
    for (const kind of deviceEventKinds) {
      const frame = exampleOf(eventFrame(kind)) as EventFrame
      expect(frame.event).toBe(kind)
      expect(frame.data, kind).toEqual(exampleOf(deviceEventSchemas[kind]))
    }
  })

  it('carry a change number in events about the log of a conversation, and in no other', () => {
    const numbered = deviceEventKinds.filter(
      (kind) => 'change' in (eventFrame(kind).properties as TProperties),
    )
    expect(numbered.sort()).toEqual([...numberedEventKinds].sort())
  })

  it('have a transient message in the shape of a stored one, without a position', () => {
    const stored = Object.keys(deviceEventSchemas['message.stored'].properties)
    const transient = Object.keys(deviceEventSchemas['message.transient'].properties)
    expect(stored).toEqual(expect.arrayContaining(transient))
    expect(transient).not.toContain('seq')
  })

  it('keep reserved names for the frame, so that no parameter is mistaken for one', () => {
    expect(Object.keys(callFrame.properties)).toEqual(['id', 'op', 'data', 'user_id', 'group_id'])
    expect(Object.keys(sessionClosingFrame.properties)).toEqual(['event', 'data'])
    for (const { id, extras } of operations)
      expect(
        reserved.filter((name) => name in extras),
        id,
      ).toEqual([])
  })

  it('open a session with the application and a token, and nothing else that is required', () => {
    expect(Type.Object(sessionOpenParameters).required).toEqual(['app_id', 'access_token'])
    expect(sessionOpenErrors.map((name) => errorCatalogue[name].code)).toEqual([
      10002, 402, 10008, 40000, 40003, 42900,
    ])
  })
})
