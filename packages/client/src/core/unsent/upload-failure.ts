import { type Failure, failureOf, type ServerErrorName } from '../../errors.js'
import type { UploadAnswer } from '../../ports/transport.js'
import { jsonObject } from '../link/wire-text.js'

/** Answers of the upload that no repeat changes. */
const finalFailures = new Map<number, ServerErrorName>([
  [14002, 'file_type_invalid'],
  [14003, 'file_too_large'],
  [14005, 'file_missing'],
  [14006, 'file_name_invalid'],
  [14007, 'file_quota_reached'],
])

/** Returns undefined for a success: the service answers `data` true, a callback of a store `Status` OK. */
export function failureOfUpload(
  { status, body }: UploadAnswer = { status: 0, body: '' },
): Failure | undefined {
  const { data, Status, code, message } = jsonObject(body) ?? {}
  if (status < 300 && (data === true || Status === 'OK')) return undefined
  const name = finalFailures.get(code as number)
  return name
    ? { code: code as number, name, message: String(message ?? ''), retry: false }
    : failureOf(
        'upload_failed',
        String(message || `the upload was answered with ${status || 'nothing'}`),
        true,
      )
}
