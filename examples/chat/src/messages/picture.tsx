import type { Message } from '@hermod/client'
import { useClient } from '@hermod/client/react'
import { useRef, useState } from 'react'
import { IconButton } from '../ui/icon-button.js'
import { UploadProgress } from './upload-progress.js'

const sidePixels = 260

/**
 * A picture as a thumbnail; a click shows all of it. Its place has the right size before it is
 * loaded, because the sender put width and height into the attachment.
 */
export function Picture({ message: { attachment = {}, upload } }: { readonly message: Message }) {
  const client = useClient()
  const [isLoaded, setLoaded] = useState(false)
  const full = useRef<HTMLDialogElement>(null)
  const { url, name = 'picture', width = 4, height = 3 } = attachment
  const scale = sidePixels / Math.max(width, height)
  const style = { width: Math.round(width * scale), aspectRatio: `${width} / ${height}` }
  if (url === undefined)
    return (
      <div className="picture" style={style}>
        <UploadProgress upload={upload} name={name} />
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
        onClick={() => full.current?.showModal()}
      >
        <img
          src={client.fileUrl(url, { thumbnail: 2 * sidePixels })}
          alt={name}
          onLoad={() => setLoaded(true)}
        />
      </button>
      <dialog className="full-picture" ref={full} aria-label={name}>
        <IconButton icon="close" label="Close" onClick={() => full.current?.close()} />
        <img src={client.fileUrl(url)} alt={name} loading="lazy" />
      </dialog>
    </>
  )
}
