import { describe, expect, it } from 'vitest'
import { maxBodyBytes } from './body-limit.js'
import type { Operation } from '../operation.js'
import { operations } from '../operations/index.js'
import { list, object, string } from '../schema.js'

const limitOf = (body: Operation['body']) => maxBodyBytes({ query: {}, body })

describe('the limit of a body', () => {
  it('is from 8 KiB to 1 MiB for every operation', () => {
    for (const operation of operations) {
      expect(maxBodyBytes(operation), operation.id).toBeGreaterThanOrEqual(8_192)
      expect(maxBodyBytes(operation), operation.id).toBeLessThanOrEqual(1_048_576)
    }
    expect(limitOf({})).toBe(8_192)
  })

  it('leaves room for the longest values in the longest form, and for unknown fields', () => {
    const person = object({ name: string({ maxLength: 64 }), note: string({ maxLength: 200 }) })
    const value = { name: '\u00e9'.repeat(64), note: '\u00e9'.repeat(200) }
    const body = { people: Array(50).fill(value), more: 'x'.repeat(4_000) }
    const text = JSON.stringify(body, null, 4).replaceAll('\u00e9', '\\u00e9')
    expect(limitOf({ people: list(person, { maxItems: 50 }) })).toBeGreaterThan(text.length)
  })

  it('is 1 MiB for texts without a length, such as those of a message', () => {
    const send = operations.find(({ id }) => id === 'message.send') as Operation
    expect(maxBodyBytes(send)).toBe(1_048_576)
  })
})
