import { useClient } from '@hermod/client/react'
import type { Message } from '@hermod/client'
import { useEffect, useRef, useState } from 'react'
import { IconButton } from '../ui/icon-button.js'
import { UploadProgress } from './upload-progress.js'

const sidePixels = 260

/**
 * A picture as a thumbnail; a click shows all of it. Its place has the right size before it is
 * loaded, because the sender put width and height into the attachment.
 */
export function Picture({ message: { attachment = {}, upload } }: { readonly message: Message }) {
  const { url = '', name = 'picture', width = 4, height = 3 } = attachment
  const thumbnail = useClient().fileUrl(url, { thumbnail: 2 * sidePixels })
  const [isLoaded, setLoaded] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const scale = sidePixels / Math.max(width, height, 1)
  const style = { width: Math.round(width * scale), aspectRatio: `${width} / ${height}` }
  if (url === '')
    return (
      <div className="picture" style={style}>
        {upload !== undefined && <UploadProgress upload={upload} name={name} />}
      </div>
    )
  return (
    <>
      <button
        type="button"
        className="picture"
        style={style}
        data-loaded={isLoaded}
        aria-label={`Show ${name}`}
        onClick={() => setOpen(true)}
      >
        <img src={thumbnail} alt={name} onLoad={() => setLoaded(true)} />
      </button>
      {isOpen && <FullPicture url={url} name={name} onClose={() => setOpen(false)} />}
    </>
  )
}

interface FullPictureProps {
  readonly url: string
  readonly name: string
  onClose(): void
}

function FullPicture({ url, name, onClose }: FullPictureProps) {
  const address = useClient().fileUrl(url)
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog className="full-picture" ref={dialog} aria-label={name} onClose={onClose}>
      <IconButton icon="close" label="Close" onClick={() => dialog.current?.close()} />
      <img src={address} alt={name} />
    </dialog>
  )
}
