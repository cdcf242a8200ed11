import {
  type CertificateOptions,
  certificateOptions,
  checkPushCertificate,
  listPushCertificates,
  type ParamsOf,
  pushEnvironment,
  removePushCertificate,
  setPushCertificate,
  vendorNotifyLevel,
} from '@hermod/protocol'
import type {
  CertificateAdminService,
  CertificateDraft,
  CertificateSummary,
} from '../../domain/push/certificates/certificate-admin-service.js'
import { definedOnly } from '../../lib/defined-only.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function operatorPushHandlers({
  certificateAdmin,
}: {
  readonly certificateAdmin: CertificateAdminService
}): Handler[] {
  return [
    handle(setPushCertificate, async ({ app_id, ...params }) =>
      data(certificateResource(await certificateAdmin.set(app_id, toDraft(params)))),
    ),
    handle(listPushCertificates, async ({ app_id }) =>
      data((await certificateAdmin.list(app_id)).map(certificateResource)),
    ),
    handle(removePushCertificate, ({ app_id, name }) =>
      whenDone(certificateAdmin.remove(app_id, name)),
    ),
    handle(checkPushCertificate, async ({ app_id, name }) => {
      const { isOk, code, words } = await certificateAdmin.check(app_id, name)
      return data({ ok: isOk, code, words })
    }),
  ]
}

type SetParams = Omit<ParamsOf<typeof setPushCertificate>, 'app_id'>

function toDraft(params: SetParams): CertificateDraft {
  return {
    name: params.name,
    channel: params.channel,
    environment: params.environment ?? pushEnvironment.production,
    gatewayAppId: params.gateway_app_id ?? '',
    appKey: params.app_key ?? '',
    appSecret: params.app_secret ?? '',
    certificate: params.certificate ?? '',
    receiptKey: params.receipt_key ?? '',
    options: optionFields(params),
  }
}

/** The options that have a value; "" and [] are none. A slash at the end of an address is left out. */
function optionFields(params: CertificateOptions): CertificateOptions {
  const { send_url, auth_url } = params
  const addresses = definedOnly({
    send_url: send_url?.replace(/\/+$/, ''),
    auth_url: auth_url?.replace(/\/+$/, ''),
  })
  const given = { ...params, ...addresses }
  return Object.fromEntries(
    Object.keys(certificateOptions)
      .map((name) => [name, given[name as keyof CertificateOptions]] as const)
      .filter(([, value]) => value !== undefined && value !== '' && !isEmptyList(value)),
  )
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function certificateResource(summary: CertificateSummary) {
  const { stored, fingerprint, hasReceiptKey, limits, requestsReceipts, receipts } = summary
  const { options } = stored
  return {
    certificate_id: stored.certificateId,
    name: stored.name,
    channel: stored.channel,
    environment: stored.environment,
    gateway_app_id: stored.gatewayAppId,
    app_key: stored.appKey,
    fingerprint,
    package_name: options.package_name ?? '',
    category: options.category ?? '',
    channel_id: options.channel_id ?? '',
    badge_class: options.badge_class ?? '',
    allows_pass_through: options.allows_pass_through ?? false,
    push_type: stored.channel === 'ios_gw' ? (options.push_type ?? 'alert') : '',
    api_version: options.api_version ?? 0,
    notify_level:
      options.notify_level ?? (stored.channel === 'vendor_o' ? vendorNotifyLevel.banner : 0),
    templates: options.templates ?? [],
    max_per_second: limits.perSecond,
    max_in_flight: limits.maxInFlight,
    send_url: options.send_url ?? '',
    auth_url: options.auth_url ?? '',
    has_ca: options.ca !== undefined,
    requests_receipts: requestsReceipts,
    receipt_id: options.receipt_id ?? '',
    receipt_url: receipts.url,
    receipt_problem: receipts.problem,
    receipt_user: options.receipt_user ?? '',
    has_receipt_key: hasReceiptKey,
    expires_at: stored.expiresAt ?? 0,
    last_accepted_at: stored.lastAcceptedAt,
    paused_until: Math.max(0, ...Object.values(stored.pauses)),
    pauses: stored.pauses,
    created_at: stored.createdAt,
    updated_at: stored.updatedAt,
  }
}
