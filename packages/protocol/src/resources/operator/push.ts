import { gatewayChannels, meaningsOf, pushEnvironment } from '../../enums.js'
import { MessageTemplate } from '../../operations/push/certificate-options.js'
import { instant, resource } from '../../resource.js'
import {
  allOptional,
  array,
  boolean,
  int32,
  int64,
  intEnum,
  object,
  type Static,
  stringEnum,
  text,
} from '../../schema.js'

/**
 * A push certificate for operators. Its secrets are not shown; receipt_url contains only the secret
 * of receipts.
 */
export const OperatorPushCertificate = resource(
  'OperatorPushCertificate',
  'A push certificate without its secrets.',
  {
    certificate_id: int64({ description: 'certificate ID' }),
    name: text('certificate name, which devices give as notifier_name'),
    channel: stringEnum(gatewayChannels, { description: 'push channel' }),
    environment: intEnum(meaningsOf(pushEnvironment)),
    gateway_app_id: text('application ID at the gateway'),
    app_key: text('application key at the gateway'),
    fingerprint: text('hash of the secrets, by which two can be told apart; "": no key opens them'),
    package_name: text('Android package of the app; "": none'),
    category: text('class of messages that the vendor has approved; "": none'),
    channel_id: text('notification channel of pushes that name none; "": none'),
    badge_class: text('desktop-icon entry class of pushes that name none; "": none'),
    allows_pass_through: boolean({ description: 'the vendor lets the app get commands' }),
    push_type: text('ios_gw: the pushes that its tokens are for; "" on other channels'),
    api_version: int32({ description: 'vendor_h: version of its API; 0: by the other fields' }),
    notify_level: int32({ description: 'vendor_o: how notifications appear; 0 on other channels' }),
    templates: array(MessageTemplate, { description: 'templates of private messages' }),
    max_per_second: int32({
      description: 'requests or messages a second that each node sends at most',
    }),
    max_in_flight: int32({
      description: 'requests of each node that the gateway has not answered yet, at most',
    }),
    send_url: text('another gateway than that of the vendor; "": none'),
    auth_url: text('another place for the token call; "": none'),
    has_ca: boolean({ description: 'an additional certificate authority is trusted' }),
    requests_receipts: boolean({
      description:
        'pushes ask the gateway for receipts; false on ios_gw and cloud_gw, which have none',
    }),
    receipt_id: text('ID of the receipt address at the vendor; "": none'),
    receipt_url: text(
      'where the gateway is to send receipts; only a path without HERMOD_PUBLIC_URL; to be kept between the two',
    ),
    receipt_problem: text(
      'reason why receipts are missing, such as no HERMOD_PUBLIC_URL, and the remedy; "": none',
    ),
    receipt_user: text('callback user that receipts are signed for; "": none'),
    has_receipt_key: boolean({ description: 'receipts without their proof are refused' }),
    expires_at: int64({ description: 'when it expires, ms; 0: never, or unknown' }),
    last_accepted_at: int64({
      description: 'when the gateway last took a push, ms, to the minute; 0: never',
    }),
    paused_until: int64({
      description: 'when the last of its used-up quotas starts anew, ms; 0: none is used up',
    }),
    pauses: object(
      allOptional({
        certificate: instant('all that it sends'),
        command: instant('commands'),
        operational: instant('operational messages'),
        private: instant('messages of a registered notification channel'),
        public: instant('messages of no registered notification channel'),
        system: instant('system messages'),
      }),
      { description: 'when each used-up quota starts anew, by what it is of' },
    ),
    created_at: int64({ description: 'when it was made, ms' }),
    updated_at: int64({ description: 'when it was set last, ms' }),
  },
)
/** A push certificate without its secrets. */
export type OperatorPushCertificate = Static<typeof OperatorPushCertificate>

/** The gateway's answer about credentials. */
export const PushCertificateCheck = resource(
  'PushCertificateCheck',
  'Whether the gateway takes the credentials of a push certificate.',
  {
    ok: boolean({ description: 'true: pushes can be sent with it' }),
    code: text('code of the gateway, or a word of the service; "": none'),
    words: text('what the gateway says, in a sentence'),
  },
)
/** Tells whether the gateway accepts the credentials of a push certificate. */
export type PushCertificateCheck = Static<typeof PushCertificateCheck>
