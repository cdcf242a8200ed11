/** Options of push certificates that the contract lacks; every one may be left out. */
import { apnsTokenTypes, meaningsOf, vendorNotifyLevel } from '../../enums.js'
import {
  boolean,
  freeObject,
  int32,
  intEnum,
  list,
  object,
  optional,
  type Static,
  string,
  stringEnum,
} from '../../schema.js'

/** Returns a text that is safe in a header or a path. */
export function plainText(description: string, maxLength = 256) {
  return optional(
    string({
      description: `${description}; "": none`,
      maxLength,
      pattern: '^[!-~]*$',
      form: 'printable ASCII characters without spaces',
    }),
  )
}

/** Longest file of a certificate, in characters. */
export const maxFileLength = 65_536

const parameters = (of: string) =>
  optional(
    freeObject({
      description: `${of} by name: texts in which {title}, {body} and {ext.<member>} are replaced`,
    }),
  )

/** A message template that the vendor has approved. */
export const MessageTemplate = object({
  name: string({
    description:
      'the pushes that use it: direct, group, broadcast, task, or default for all that have none; any other name is for tasks that name it',
    minLength: 1,
    maxLength: 64,
  }),
  id: string({
    description: 'ID of the template at the vendor',
    maxLength: 128,
    pattern: '^[!-~]+$',
    form: 'printable ASCII characters without spaces',
  }),
  category: optional(
    string({
      description: 'vendor_o: category of the template; default: that of the certificate',
      maxLength: 64,
      pattern: '^[!-~]+$',
      form: 'printable ASCII characters without spaces',
    }),
  ),
  channel_id: optional(
    string({
      description: 'vendor_x: channel of the template; default: that of the push',
      minLength: 1,
      maxLength: 128,
    }),
  ),
  parameters: parameters('vendor_x: parameters of the template'),
  title_parameters: parameters('vendor_o: parameters of the title'),
  content_parameters: parameters('vendor_o: parameters of the content'),
})
/** A message template of a certificate. */
export type MessageTemplate = Static<typeof MessageTemplate>

/** Schemas of the options by name. */
export const certificateOptions = {
  package_name: plainText('Android package of the app; vendor_x needs it'),
  category: plainText('class of messages that the vendor has approved, such as IM', 64),
  channel_id: optional(
    string({
      description:
        'notification channel of pushes that name none, such as those of messages (vendor_h, vendor_x, vendor_o, cloud_gw); "": none',
      examples: ['chat'],
    }),
  ),
  badge_class: plainText(
    'desktop-icon entry class of pushes that name none; without one vendor_h and vendor_n change no badge',
    1024,
  ),
  allows_pass_through: optional(
    boolean({ description: 'the vendor lets the app get commands (vendor_x, vendor_f)' }),
  ),
  push_type: optional(
    stringEnum(apnsTokenTypes, {
      description:
        'ios_gw: the pushes that the tokens of this name are for: alert (default), which includes commands; voip; liveactivity, updates and ends of running activities; liveactivity_start, their start',
    }),
  ),
  api_version: optional(
    intEnum(
      { 0: 'by the other fields', 3: 'the third, for devices with HarmonyOS 5 and later' },
      { description: 'vendor_h: version of its API', default: 0 },
    ),
  ),
  notify_level: optional(
    intEnum(meaningsOf(vendorNotifyLevel), {
      description: 'vendor_o: how notifications with a category appear; default 16',
    }),
  ),
  templates: optional(
    list(MessageTemplate, {
      description: 'vendor_x, vendor_o: templates of private messages; at most 20',
      maxItems: 20,
    }),
  ),
  max_per_second: optional(
    int32({
      description:
        'requests a second that each node sends at most, or messages (vendor_h, vendor_n, vendor_o, vendor_v); default: that of the channel',
      minimum: 1,
      maximum: 100_000,
    }),
  ),
  max_in_flight: optional(
    int32({
      description:
        'requests of each node that the gateway has not answered yet, at most; default: that of the channel',
      minimum: 1,
      maximum: 1_000,
    }),
  ),
  requests_receipts: optional(
    boolean({
      description:
        'whether pushes ask the gateway for receipts (vendor_x, vendor_o, vendor_v, vendor_f); default: yes, vendor_f only with a receipt_key',
    }),
  ),
  receipt_id: plainText(
    'ID of the receipt address at the vendor, where it is set in the console: vendor_v, and vendor_h with api_version 3',
  ),
  receipt_user: plainText('vendor_h: name of the callback user that receipts are signed for'),
  send_url: plainText('another gateway than that of the vendor', 1024),
  auth_url: plainText('another place for the token call', 1024),
  ca: optional(
    string({
      description: 'PEM of an additional certificate authority to trust; "": none',
      maxLength: maxFileLength,
    }),
  ),
} as const

const CertificateOptions = object(certificateOptions)
/** Options of a certificate; an option without a value is absent. */
export type CertificateOptions = Static<typeof CertificateOptions>
