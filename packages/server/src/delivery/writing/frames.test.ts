import { describe, expect, it } from 'vitest'
import { encodeEvent } from './frames.js'

describe('frames', () => {
  it('the frame of an event has the change number where there is one', () => {
    const read = (frame: Buffer) => frame.subarray(2).toString()
    expect(read(encodeEvent('message.read', { seq: 1 }))).toBe(
      '{"event":"message.read","data":{"seq":1}}',
    )
    expect(read(encodeEvent('message.stored', {}, 7))).toBe(
      '{"event":"message.stored","data":{},"change":7}',
    )
  })

  it('the extension of a push may have integers beyond 2^53', () => {
    const frame = encodeEvent('push.notification', { ext: { n: 12345678901234567890n } })
    expect(frame.toString()).toContain('{"n":12345678901234567890}')
  })
})
