export declare function readTrace(text: string, folder: string, from?: string): string
