import { describe, expect, it } from 'vitest'
import type { GatewayAnswer } from '../runtime/transport.js'
import { vendorOOutcomes } from '../vendor-o/answers.js'
import { vendorXOutcomes } from '../vendor-x/answers.js'

const targets = ['a', 'b', 'c'].map((token) => ({ token, badgeCount: null }))

function answer(body: unknown): GatewayAnswer {
  return { status: 200, headers: {}, body: JSON.stringify(body), receivedAt: 0 }
}

describe('refusals for a template', () => {
  const template = { name: 'group', id: 'T1' }
  const missing = 'wants a template for private messages: set one on the certificate with'
  const wrong = 'does not take the template group: compare its ID T1'

  it.each([
    ['vendor_o', 54, 'private_msg_template_id is null', null, missing],
    ['vendor_o', 54, '', null, missing],
    ['vendor_o', 54, 'private_msg_template_id is unknown', template, wrong],
    ['vendor_o', 99, 'template_parameters no 用户名称', template, wrong],
    ['vendor_x', 10016, 'template_id is missing', null, missing],
    ['vendor_x', 10017, '模板参数不合法', template, wrong],
  ] as const)('%s: %i with "%s" is a fault of the set-up', (channel, code, words, sent, advice) => {
    const [outcome] =
      channel === 'vendor_o'
        ? vendorOOutcomes(answer({ code, message: words }), { targets, template: sent })
        : vendorXOutcomes(answer({ code, reason: words }), {
            targets,
            messageClass: 'private',
            template: sent,
          })
    expect(outcome).toMatchObject({
      kind: 'config',
      isOfPush: true,
      code: String(code),
      alarm: { kind: 'template' },
      reason: expect.stringContaining(`${channel} ${advice}`),
    })
  })

  it('vendor_o: of one message of a batch stops no other', () => {
    const data = [
      { registrationId: 'a', errorCode: 54, errorMessage: 'private_msg_template_id is null' },
      { registrationId: 'b', messageId: 'm2' },
    ]
    const [refused, taken] = vendorOOutcomes(answer({ code: 0, data }), { targets })
    expect(refused).toMatchObject({ kind: 'config', isOfPush: true })
    expect(taken).toEqual({ kind: 'accepted', messageId: 'm2' })
  })

  it('are not those whose words name no template', () => {
    const [outcome] = vendorXOutcomes(answer({ code: 10017, reason: 'title' }), {
      targets,
      messageClass: 'private',
      template,
    })
    expect(outcome).toMatchObject({ kind: 'payload', reason: 'title' })
  })
})
