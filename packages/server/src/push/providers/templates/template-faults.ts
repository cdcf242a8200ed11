/** Faults in the templates of a certificate, for the operator who sets it. */
import type { MessageTemplate } from '@hermod/protocol'
import type { CertificateFault, GatewayCertificate } from '../../certificate.js'
import { type TemplateChannel, templatePlaceholder } from './template.js'

/** Parameters of a template at the vendors that state a limit. */
const maxParameters = { vendor_x: 9, vendor_o: 20 } as const
const maxTextLength = 256

/** Members with parameters, by the channel whose templates have them. */
const parameterMembers = {
  vendor_x: ['parameters'],
  vendor_o: ['title_parameters', 'content_parameters'],
} as const satisfies Record<TemplateChannel, readonly (keyof MessageTemplate)[]>

/** The member that makes messages private, by channel; also an option of the certificate. */
const classMembers = {
  vendor_x: 'channel_id',
  vendor_o: 'category',
} as const satisfies Record<TemplateChannel, keyof MessageTemplate>

/** Returns all faults; [] when the templates are usable. */
export function templateFaults(certificate: GatewayCertificate): CertificateFault[] {
  const { channel, templates = [] } = certificate
  if (channel !== 'vendor_x' && channel !== 'vendor_o') return []
  if (templates.length === 0) return []
  return templates.flatMap((template, index) => [
    ...nameFaults(templates, index),
    ...missingClass(certificate, channel, index),
    ...foreignMembers(template, channel, index),
    ...parameterMembers[channel].flatMap((member) =>
      parameterFaults(template[member] ?? {}, `templates[${index}].${member}`, channel),
    ),
  ])
}

function missingClass(
  { category, channelId, templates = [] }: GatewayCertificate,
  channel: TemplateChannel,
  index: number,
): CertificateFault[] {
  const member = classMembers[channel]
  const ofCertificate = channel === 'vendor_o' ? category : channelId
  if ((templates[index]?.[member] ?? ofCertificate) !== undefined) return []
  const text = `needs ${member}, its own or that of the certificate: only private messages have templates`
  return [{ field: `templates[${index}]`, text }]
}

function nameFaults(templates: readonly MessageTemplate[], index: number): CertificateFault[] {
  const first = templates.findIndex(({ name }) => name === templates[index]?.name)
  if (first === index) return []
  return [{ field: `templates[${index}].name`, text: `is that of templates[${first}] too` }]
}

function foreignMembers(
  template: MessageTemplate,
  channel: TemplateChannel,
  index: number,
): CertificateFault[] {
  const other = channel === 'vendor_x' ? 'vendor_o' : 'vendor_x'
  return [classMembers[other], ...parameterMembers[other]]
    .filter((member) => template[member] !== undefined)
    .map((member) => ({ field: `templates[${index}].${member}`, text: `is for ${other} only` }))
}

function parameterFaults(
  parameters: Readonly<Record<string, unknown>>,
  field: `templates${string}`,
  channel: TemplateChannel,
): CertificateFault[] {
  const entries = Object.entries(parameters)
  const max = maxParameters[channel]
  if (entries.length > max) return [{ field, text: `must have at most ${max} members` }]
  return entries.flatMap(([name, value]) => {
    const text = valueFault(value)
    return text === null ? [] : [{ field: `${field}.${name}` as const, text }]
  })
}

/** Returns null for a usable value. */
function valueFault(value: unknown): string | null {
  if (typeof value !== 'string') return 'must be a text'
  if (value.trim() === '') return 'must not be blank'
  if (value.length > maxTextLength) return `must have at most ${maxTextLength} characters`
  const unknown = [...value.matchAll(templatePlaceholder)].find(
    ([, name = '']) => !/^(title|body|ext\..+)$/.test(name),
  )
  return unknown === undefined
    ? null
    : `must not hold ${unknown[0]}; its placeholders are {title}, {body} and {ext.<member>}`
}
