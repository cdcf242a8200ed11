import { closeCodes } from '@hermod/protocol'
import { asyncApiDocument } from '@hermod/protocol/asyncapi'
import { deviceEventKinds, internalEventKinds } from '@hermod/protocol/gateway'
import { describe, expect, it } from 'vitest'
import { renderGateway } from './gateway.js'

const text = renderGateway(asyncApiDocument({ version: '1.2.3', builtOperationIds: new Set() }))

describe('the reference of the gateway', () => {
  it('lists every kind of event that devices get, and every close code', () => {
    for (const kind of deviceEventKinds) expect(text).toContain(`| \`${kind}\` |`)
    for (const [name, code] of Object.entries(closeCodes))
      expect(text).toContain(`| ${code} | \`${name}\` |`)
  })

  it('leaves out the kinds that are sent to no device', () => {
    expect(internalEventKinds).toEqual([
      'message.read_all',
      'message.stream_ended',
      'message.reaction',
      'message.pinned',
      'message.unpinned',
      'message.expired',
      'import.finished',
      'webhook.disabled',
    ])
    for (const kind of internalEventKinds) expect(text).not.toContain(kind)
  })

  it('shows the call and the answer of session.open, and the members of a failure', () => {
    expect(text).toContain('| `access_token` | string | yes |')
    expect(text).toContain('| `session_id` | int64 | yes |')
    expect(text).toContain('| `retry` | boolean | yes |')
  })
})
