import sharp from 'sharp'

/** A drawn picture. */
export interface Picture {
  /** JPEG. */
  readonly bytes: Buffer
  readonly width: number
  readonly height: number
}

const width = 1200
const height = 800

/** Draws a lake at dusk. */
export function drawLake(): Promise<Picture> {
  return draw({ sky: ['#31456e', '#c98f86', '#f7d9a8'], hills: ['#7d7894', '#565b7c', '#343c5a'] })
}

/** Draws a lake in the morning. */
export function drawMorning(): Promise<Picture> {
  return draw({ sky: ['#7fb2d9', '#c6e0ea', '#f6efdc'], hills: ['#9db7b4', '#6a9488', '#3f6a5d'] })
}

interface Colors {
  readonly sky: readonly [string, string, string]
  /** From far to near. */
  readonly hills: readonly [string, string, string]
}

async function draw({ sky, hills }: Colors): Promise<Picture> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1200 800">
<defs><linearGradient id="s" x2="0" y2="1"><stop stop-color="${sky[0]}"/><stop offset=".6" stop-color="${sky[1]}"/><stop offset="1" stop-color="${sky[2]}"/></linearGradient>
<linearGradient id="w" x2="0" y2="1"><stop stop-color="${sky[2]}"/><stop offset="1" stop-color="${sky[0]}"/></linearGradient></defs>
<rect width="1200" height="540" fill="url(#s)"/>
<circle cx="820" cy="380" r="62" fill="#fff3d6" opacity=".92"/>
<path d="M0 430l170-150 120 90 190-210 210 240 130-110 170 150 210-120v220H0z" fill="${hills[0]}"/>
<path d="M0 480l240-130 190 110 230-90 260 100 280-90v160H0z" fill="${hills[1]}"/>
<rect y="540" width="1200" height="260" fill="url(#w)"/>
<path d="M740 560h160M700 600h240M760 640h120M720 690h200" stroke="#fff3d6" stroke-width="7" stroke-linecap="round" opacity=".55"/>
<path d="M0 540h1200v14H0z" fill="${hills[2]}" opacity=".6"/>
<path d="M0 660c120-60 250-50 330 10s120 90 60 130H0z" fill="${hills[2]}"/>
<path d="M90 670l46-210 46 210zM180 680l36-160 36 160z" fill="${hills[2]}"/>
</svg>`
  const bytes = await sharp(Buffer.from(svg)).resize(width, height).jpeg({ quality: 86 }).toBuffer()
  return { bytes, width, height }
}
