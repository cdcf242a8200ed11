import type { Message } from '@hermod/client'

interface UploadProgressProps {
  readonly upload: Message['upload']
  readonly name: string
}

/** A bar that fills while a file is uploaded. */
export function UploadProgress({ upload, name }: UploadProgressProps) {
  const share = upload === undefined ? 0 : upload.sent / Math.max(1, upload.total)
  return (
    <progress className="upload" value={share} aria-label={`Upload of ${name}`}>
      {Math.round(share * 100)} %
    </progress>
  )
}
