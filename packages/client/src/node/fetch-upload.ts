import { uploadForm } from '../runtime/upload-form.js'
import type { Upload } from '../ports/transport.js'

/** Uploads with fetch, which reports no progress before the end. */
export const fetchUpload: Upload = async ({
  url,
  method,
  fields,
  blob,
  fileName,
  onProgress,
  signal,
}) => {
  const body = uploadForm(fields, blob, fileName)
  const response = await fetch(url, { method, body, signal })
  onProgress(blob.size)
  return { status: response.status, body: await response.text() }
}
