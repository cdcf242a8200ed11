/** The rules of the operations for rows that an import of a portable export writes. */
import { type TSchema, updateApp } from '@hermod/protocol'
import { appIdPattern, settingsViolation } from '../../domain/apps/app-model.js'
import { isFileId, isUploadId } from '../../domain/files/file-model.js'
import { compileDecoder } from '../../pipeline/decode.js'
import type { LineRow } from '../../transfer/lines.js'

type Decode = ReturnType<typeof compileDecoder>

const changes = updateApp.body as Readonly<Record<string, TSchema>>
const [name, status, settingsForm] = ['name', 'status', 'settings'].map((field) =>
  compileDecoder(changes[field] as TSchema, 'exact'),
) as [Decode, Decode, Decode]
const appFields: Readonly<Record<string, Decode>> = {
  name,
  status,
}
/** Far above every limit of files, and so low that no sum over files leaves 64 bits. */
const greatestFile = 2 ** 40
/** The form of detected types of files, which go into the headers of answers. */
const contentType = /^[a-z0-9][a-z0-9.+-]*\/[a-z0-9][a-z0-9.+-]*$/

/** Returns what is wrong with a row: the end of a sentence, or null. */
export function portableRowProblem(table: string, row: LineRow): string | null {
  if (table === 'apps') return appProblem(row)
  return table === 'files' ? fileProblem(row) : null
}

function appProblem({ app_id: appId, open_registration: isOpen, settings, ...row }: LineRow) {
  if (!appIdPattern.test(String(appId))) return `has the app_id ${appId}, which has another form`
  if (isOpen !== 0 && isOpen !== 1) return `has ${isOpen} in open_registration, which is 0 or 1`
  const violations: string[] = []
  for (const [name, decode] of Object.entries(appFields)) decode(row[name], name, violations)
  let given: unknown
  try {
    given = JSON.parse(String(settings))
  } catch {
    return 'has settings that are not JSON'
  }
  settingsForm(given, 'settings', violations)
  const violation = violations[0] ?? settingsViolation(given as object)
  return violation === null ? null : `has a field that no operation accepts: ${violation}`
}

function fileProblem({ file_id: fileId, upload_id: uploadId, content_type: type, size }: LineRow) {
  if (Number(size) > greatestFile) return `has the size ${size}, which no file has`
  if (!isFileId(String(fileId))) return 'has a file_id of another form'
  if (!isUploadId(String(uploadId))) return 'has an upload_id of another form'
  return contentType.test(String(type)) ? null : `has the content_type ${type}, which is none`
}
