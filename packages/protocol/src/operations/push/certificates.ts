import { gatewayChannels, meaningsOf, pushEnvironment, pushProvider } from '../../enums.js'
import { operation } from '../../operation.js'
import { OperatorPushCertificate, PushCertificateCheck } from '../../resources/operator/push.js'
import { PushCertificate } from '../../resources/push/push.js'
import { array, intEnum, optional, string, stringEnum } from '../../schema.js'
import { appId, done, get, operatorOperation, post } from '../fields.js'
import { certificateOptions, maxFileLength, plainText } from './certificate-options.js'

/** Only Admin tokens receive secrets (rule G6). */
export const getPushCertificate = operation({
  id: 'push.certificate',
  methods: get,
  path: '/push/certificate',
  tag: 'Push',
  summary: 'Reads the certificate of a push channel.',
  description:
    'With a user token app_secret and certificate are "". Of several certificates it is the oldest.',
  callers: 'member',
  scopes: ['app'],
  query: {
    environment: optional(intEnum(meaningsOf(pushEnvironment), { default: 1 })),
    provider: intEnum(meaningsOf(pushProvider), { description: 'push channel' }),
  },
  data: PushCertificate,
  errors: ['push_certificate_not_found'],
})

const environment = optional(intEnum(meaningsOf(pushEnvironment), { default: 1 }))
const name = string({
  description: 'certificate name, which devices give as notifier_name',
  minLength: 1,
  maxLength: 256,
  examples: ['main-ios'],
})

const maxSecretLength = 4096

/**
 * The credentials are given as a whole and checked as for a send. A replaced certificate keeps its
 * ID and the address of its receipts; its channel cannot change.
 */
export const setPushCertificate = operation({
  ...operatorOperation,
  id: 'operator.push.certificate.set',
  methods: post,
  path: '/operator/v1/push/certificate/set',
  summary: 'Makes a push certificate, or replaces the one of that name.',
  description:
    'Omitted fields are cleared. A certificate that cannot be used is refused with all its errors. Other nodes follow within 1 s.',
  body: {
    app_id: appId,
    name,
    channel: stringEnum(gatewayChannels, { description: 'push channel' }),
    environment,
    gateway_app_id: plainText('application ID at the gateway; ios_gw: the bundle ID'),
    app_key: plainText(
      'application key at the gateway; ios_gw: the key ID; vendor_n: the client ID',
    ),
    app_secret: optional(
      string({
        description:
          'secret at the gateway; ios_gw: the team ID, or the passphrase of the .p12 file',
        maxLength: maxSecretLength,
      }),
    ),
    certificate: optional(
      string({
        description:
          'ios_gw: text of the .p8 file, or the .p12 file as base64; cloud_gw and vendor_h: JSON of the service account',
        maxLength: maxFileLength,
      }),
    ),
    ...certificateOptions,
    receipt_key: plainText(
      'vendor_h: key that receipts are signed with; vendor_f: access token that they carry',
    ),
  },
  data: OperatorPushCertificate,
  errors: ['app_not_found'],
})

/** Oldest first; secrets are not shown. */
export const listPushCertificates = operation({
  ...operatorOperation,
  id: 'operator.push.certificate.list',
  methods: get,
  path: '/operator/v1/push/certificate/list',
  summary: 'Lists the push certificates of an application, without their secrets.',
  query: { app_id: appId },
  data: array(OperatorPushCertificate),
  errors: ['app_not_found'],
})

/**
 * Devices stay bound to the name, and receive pushes again when a certificate of that name is set.
 */
export const removePushCertificate = operation({
  ...operatorOperation,
  id: 'operator.push.certificate.remove',
  methods: post,
  path: '/operator/v1/push/certificate/remove',
  summary: 'Removes a push certificate; devices keep their bindings.',
  body: { app_id: appId, name },
  data: done,
  errors: ['app_not_found', 'push_certificate_not_found'],
})

/**
 * Sends a message to a device that cannot exist, with these credentials; takes up to half a minute.
 */
export const checkPushCertificate = operation({
  ...operatorOperation,
  id: 'operator.push.certificate.check',
  methods: post,
  path: '/operator/v1/push/certificate/check',
  summary: 'Asks the gateway of a push certificate whether it takes the credentials.',
  description: 'No device is reached.',
  body: { app_id: appId, name },
  data: PushCertificateCheck,
  errors: ['app_not_found', 'push_certificate_not_found'],
})
