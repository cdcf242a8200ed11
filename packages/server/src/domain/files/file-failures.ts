import { AppError, type ErrorName } from '@hermod/protocol'
import { BlobError, type BlobErrorReason } from '../../blobs/blob-store.js'
import { MediaError, type MediaErrorReason } from '../../media/media.js'

const blobFailures: Readonly<Record<BlobErrorReason, ErrorName>> = {
  too_large: 'file_too_large',
  cut: 'malformed_request',
  not_found: 'file_not_found',
  full: 'file_storage_full',
  unavailable: 'object_storage_failed',
  damaged: 'object_storage_failed',
  elsewhere: 'files_on_other_node',
}

/** The remedy, for the operator who sees the answer. */
const commonStore = 'all nodes need HERMOD_FILES_SHARED=on and one folder, or HERMOD_S3_ENDPOINT'

const mediaFailures: Readonly<Record<MediaErrorReason, ErrorName>> = {
  unreadable: 'rendition_unavailable',
  too_complex: 'picture_too_complex',
  busy: 'unavailable',
  unsupported: 'voice_conversion_unavailable',
}

/** @returns the AppError for a failure of a store or of media; any other error unchanged */
export function fileFailure(error: unknown): unknown {
  if (error instanceof BlobError) return blobFailure(error)
  if (!(error instanceof MediaError)) return error
  return new AppError(mediaFailures[error.reason], error.message, { cause: error })
}

/** A body that was cut has failed with the AppError of its cause. */
function blobFailure(error: BlobError): AppError {
  const { reason, cause } = error
  if (reason === 'cut' && cause instanceof AppError) return cause
  const detail = reason === 'elsewhere' ? commonStore : undefined
  return new AppError(blobFailures[reason], detail, { cause: error })
}
