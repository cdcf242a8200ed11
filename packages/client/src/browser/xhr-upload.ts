import type { Upload } from '../ports/transport.js'
import { uploadForm } from '../runtime/upload-form.js'

/** Uploads with XMLHttpRequest, since fetch reports no progress. */
export const xhrUpload: Upload = ({ url, method, fields, blob, fileName, onProgress, signal }) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open(method, url)
    request.upload.onprogress = ({ loaded }) => onProgress(Math.min(loaded, blob.size))
    request.onload = () => resolve({ status: request.status, body: request.responseText })
    request.onerror = request.onabort = () => reject(new Error('the upload got no answer'))
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(uploadForm(fields, blob, fileName))
  })
