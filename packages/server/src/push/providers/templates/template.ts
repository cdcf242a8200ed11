/** Message templates of a certificate: the choice for a notification, and the values of parameters. */
import type { MessageTemplate } from '@hermod/protocol'
import { scalarText } from '../../../lib/json.js'
import type { GatewayCertificate } from '../../certificate.js'
import type { PushNotification } from '../../notification.js'
import type { Refusal } from '../../outcomes.js'
import { unfit } from '../content/answers.js'
import { cutText } from '../../../lib/cut-text.js'

/** Channels whose vendors want templates for private messages. */
export type TemplateChannel = 'vendor_x' | 'vendor_o'

/** The text that placeholders stand for. */
export type TemplateContent = Pick<PushNotification, 'title' | 'body' | 'ext' | 'hidesDetails'>

/** A placeholder in the text of a parameter, such as {title}. */
export const templatePlaceholder = /\{([^{}]*)\}/g

/** Room for the advice in traces, which shorten reasons. */
const maxReasonLength = 100

/** Value of a parameter without any text, since vendors refuse an empty one. */
const standIn = '…'

/** Characters that vendor_x refuses in values: emoji and their parts, symbols, and unassigned ones. */
const refusedCharacters =
  /[\p{So}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Cs}\p{Co}\p{Cn}\u{e0020}-\u{e007f}]|\u200d|\ufe0e|\ufe0f|\u20e3/gu

/**
 * Returns the template of a notification: the one that it names, else the one of its origin, else
 * `default`; null for none.
 */
export function templateOf(
  notification: PushNotification,
  { channel, templates = [] }: GatewayCertificate,
): MessageTemplate | null {
  const own = namedTemplate(notification, channel)
  const names = own === undefined ? [notification.origin, 'default'] : [own]
  const found = names.map((wanted) => templates.find(({ name }) => name === wanted))
  return found.find((template) => template !== undefined) ?? null
}

/** Returns the refusal of a notification that names a template that the certificate lacks. */
export function missingTemplate(
  notification: PushNotification,
  certificate: GatewayCertificate,
): Refusal | null {
  const name = namedTemplate(notification, certificate.channel)
  return name === undefined || templateOf(notification, certificate) !== null
    ? null
    : unfit('no_template', `the certificate has no template with the name ${name}`)
}

function namedTemplate({ channels }: PushNotification, channel: GatewayCertificate['channel']) {
  return channel === 'ios_gw' ? undefined : channels[channel]?.template
}

/** Returns the values of parameters, with 1 to `maxLength` code units that the vendors take. */
export function filledParameters(
  parameters: MessageTemplate['parameters'],
  content: TemplateContent,
  maxLength: number,
): Record<string, string> {
  const values = Object.entries(parameters ?? {}).map(([name, text]) => [
    name,
    takenValue(withContent(scalarText(text), content), maxLength),
  ])
  return Object.fromEntries(values)
}

function withContent(text: string, { title, body, ext, hidesDetails }: TemplateContent): string {
  return text.replace(templatePlaceholder, (_, name: string) => {
    if (name === 'title') return title
    if (name === 'body') return body
    return hidesDetails ? '' : scalarText(ext?.[name.slice('ext.'.length)])
  })
}

function takenValue(text: string, maxLength: number): string {
  const taken = text.replace(refusedCharacters, '').replace(/\s+/g, ' ').trim()
  return cutText(taken, maxLength).trim() || standIn
}

/** Tests whether a gateway's reason is about the template of a message. */
export function isAboutTemplate(reason: string): boolean {
  return /template|模[板版]|private_(title|content)_param/i.test(reason)
}

/**
 * Returns the refusal of a message for its template. Other messages of the certificate go on.
 *
 * @param template of the message; null: it had none
 */
export function templateRefusal(
  { code, reason }: { readonly code: string; readonly reason: string },
  channel: TemplateChannel,
  template: MessageTemplate | null,
): Refusal {
  const advice =
    template === null
      ? `${channel} wants a template for private messages: set one on the certificate with --templates-file`
      : `${channel} does not take the template ${template.name}: compare its ID ${template.id} and the names of its parameters with the console of the vendor`
  const words = reason === '' ? advice : `${cutText(reason, maxReasonLength)}; ${advice}`
  return { kind: 'config', isOfPush: true, code, reason: words, alarm: { kind: 'template' } }
}
