import { retireSecretKey, rotateSecretKey } from '@hermod/protocol'
import type { RotationReport, SecretService } from '../../domain/secrets/secret-service.js'
import { data, type Handler, handle } from '../../pipeline/call.js'

export function secretHandlers({
  secretService,
}: {
  readonly secretService: SecretService
}): Handler[] {
  return [
    handle(rotateSecretKey, async () => data(toReport(await secretService.rotate()))),
    handle(retireSecretKey, async () => data(toReport(await secretService.retire()))),
  ]
}

function toReport(report: RotationReport) {
  return {
    key_id: report.keyId,
    previous_key_id: report.previousKeyId ?? '',
    key_source: report.keySource,
    resealed: report.resealed,
    unreadable: report.unreadable,
  }
}
