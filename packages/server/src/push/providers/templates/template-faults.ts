/** Faults in the templates of a certificate, for the operator who sets it. */
import type { MessageTemplate } from '@hermod/protocol'
import type { CertificateFault, GatewayCertificate } from '../../sender.js'
import { placeholder, type TemplateChannel } from './template.js'

/** Parameters of a template at the vendors that state a limit. */
const maxParameters = { vendor_x: 9, vendor_o: 20 } as const
const maxTextLength = 256

/** Members with parameters, by the channel whose templates have them. */
const parameterMembers = {
  vendor_x: ['parameters'],
  vendor_o: ['title_parameters', 'content_parameters'],
} as const satisfies Record<TemplateChannel, readonly (keyof MessageTemplate)[]>

/** Returns all faults; [] when the templates are usable. */
export function templateFaults(certificate: GatewayCertificate): CertificateFault[] {
  const { channel, templates = [] } = certificate
  if (channel !== 'vendor_x' && channel !== 'vendor_o') return []
  if (templates.length === 0) return []
  return [
    ...missingOption(certificate, channel),
    ...templates.flatMap((template, index) => [
      ...nameFaults(templates, index),
      ...foreignMembers(template, channel, index),
      ...parameterMembers[channel].flatMap((member) =>
        parameterFaults(template[member] ?? {}, `templates[${index}].${member}`, channel),
      ),
    ]),
  ]
}

function missingOption(
  { category, channelId }: GatewayCertificate,
  channel: TemplateChannel,
): CertificateFault[] {
  const option = channel === 'vendor_o' ? 'category' : 'channel_id'
  if ((channel === 'vendor_o' ? category : channelId) !== undefined) return []
  const text = `need ${option}, since only private messages have templates`
  return [{ field: 'templates', text }]
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
  const [other, members] =
    channel === 'vendor_x'
      ? (['vendor_o', parameterMembers.vendor_o] as const)
      : (['vendor_x', parameterMembers.vendor_x] as const)
  return members
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
  const unknown = [...value.matchAll(placeholder)].find(
    ([, name = '']) => !/^(title|body|ext\..+)$/.test(name),
  )
  return unknown === undefined
    ? null
    : `must not hold ${unknown[0]}; its placeholders are {title}, {body} and {ext.<member>}`
}
