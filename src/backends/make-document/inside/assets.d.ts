declare module 'font.ttf' {
  const font: ArrayBuffer
  export default font
}
declare module 'resvg.wasm' {
  const program: WebAssembly.Module
  export default program
}
