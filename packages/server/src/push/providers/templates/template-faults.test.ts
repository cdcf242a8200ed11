import type { MessageTemplate } from '@hermod/protocol'
import { expect, it } from 'vitest'
import type { GatewayCertificate, VendorChannel } from '../../certificate.js'
import { templateFaults } from './template-faults.js'

const template = { name: 'default', id: '1' }

function faultsOf(
  channel: VendorChannel,
  templates: readonly MessageTemplate[],
  changes: Partial<GatewayCertificate> = { category: 'IM', channelId: 'chat' },
): string[] {
  const certificate: GatewayCertificate = {
    channel,
    environment: 'production',
    appId: '',
    appKey: '',
    appSecret: '',
    certificate: '',
    templates,
    ...changes,
  }
  return templateFaults(certificate).map(({ field, text }) => `${field} ${text}`)
}

const many = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`p${index}`, '{body}']))

it.each<[VendorChannel, readonly MessageTemplate[], readonly string[]]>([
  ['vendor_x', [{ ...template, parameters: { a: '{title}', b: '{ext.order.no}: {body}' } }], []],
  [
    'vendor_o',
    [
      { ...template, title_parameters: { a: 'x' } },
      { name: 'task', id: '1' },
    ],
    [],
  ],
  ['vendor_h', [], []],
  ['vendor_o', [template, template], ['templates[1].name is that of templates[0] too']],
  [
    'vendor_o',
    [{ ...template, channel_id: 'chat', parameters: { a: '{body}' } }],
    [
      'templates[0].channel_id is for vendor_x only',
      'templates[0].parameters is for vendor_x only',
    ],
  ],
  [
    'vendor_x',
    [{ ...template, category: 'IM', title_parameters: {}, content_parameters: {} }],
    [
      'templates[0].category is for vendor_o only',
      'templates[0].title_parameters is for vendor_o only',
      'templates[0].content_parameters is for vendor_o only',
    ],
  ],
  [
    'vendor_o',
    [
      template,
      {
        name: 'task',
        id: '1',
        title_parameters: { a: 7, b: ' ' },
        content_parameters: { c: '{text}', d: 'x'.repeat(257) },
      },
    ],
    [
      'templates[1].title_parameters.a must be a text',
      'templates[1].title_parameters.b must not be blank',
      'templates[1].content_parameters.c must not hold {text}; its placeholders are {title}, {body} and {ext.<member>}',
      'templates[1].content_parameters.d must have at most 256 characters',
    ],
  ],
  [
    'vendor_x',
    [{ ...template, parameters: many }],
    ['templates[0].parameters must have at most 9 members'],
  ],
])('%s: the faults of %j', (channel, templates, faults) => {
  expect(faultsOf(channel, templates)).toEqual(faults)
})

it('templates need the option that makes messages private', () => {
  const needs = (member: string) =>
    `templates[0] needs ${member}, its own or that of the certificate: only private messages have templates`
  expect(faultsOf('vendor_o', [template], { channelId: 'chat' })).toEqual([needs('category')])
  expect(faultsOf('vendor_x', [template], { category: 'IM' })).toEqual([needs('channel_id')])
  expect(faultsOf('vendor_o', [{ ...template, category: 'ORDER' }], {})).toEqual([])
  expect(faultsOf('vendor_x', [{ ...template, channel_id: 'orders' }], {})).toEqual([])
})
