# SPDX-License-Identifier: Apache-2.0
"""Sounds, pictures and films."""
from matrix import Case

CASES = (
    Case("ffmpeg", "ffmpeg", {"ffmpeg": 3, "ffprobe": 1}, status=1, script=r"""
        q='ffmpeg -nostdin -v error -flags bitexact -fflags bitexact'
        $q -f lavfi -i testsrc=s=320x240:d=2 -f lavfi -i sine=d=2 -threads 2 -c:v mpeg4 -c:a aac a.mp4
        $q -i a.mp4 -vf scale=160:-2,hue=s=0 -c:v mjpeg -an b.avi; ffprobe -v error -show_entries stream=codec_name,nb_frames -of csv a.mp4
        ls a.mp4 b.avi; ffmpeg -nostdin -v error -i none.mp4 c.avi"""),
    Case("imagemagick", "/usr/bin/convert:imagemagick /usr/bin/identify:imagemagick", {"convert*": 3, "identify*": 1}, status=1,
         script=r"""
        export MAGICK_THREAD_LIMIT=2
        convert -size 400x300 gradient:red-blue -swirl 90 a.png; convert a.png -blur 0x3 -resize 50% -rotate 10 b.jpg
        convert b.jpg -colors 16 txt: | md5sum; identify -format '%m %w %h\n' a.png b.jpg; identify none.png 2>&1"""),
    Case("rsvg-convert", "rsvg-convert:librsvg2-bin", {"rsvg-convert": 1}, script=r"""
        (echo '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400">'
        for i in $(seq 400); do echo "<circle cx='$i' cy='$((i * 7 % 400))' r='9' fill='#$((i % 9))a5' opacity='.5'/>"; done
        echo '<text x="10" y="50">text</text></svg>') > a.svg; rsvg-convert a.svg | md5sum"""),
    Case("tesseract", "tesseract:tesseract-ocr /usr/bin/convert:imagemagick gs:ghostscript", {"tesseract": 1}, script=r"""
        export OMP_THREAD_LIMIT=1
        printf '%%!\n/Courier findfont 24 scalefont setfont 20 60 moveto (heap profiler) show showpage\n' > a.ps
        gs -q -dNOPAUSE -dBATCH -sDEVICE=pnggray -r150 -g700x200 -sOutputFile=a.png a.ps; tesseract a.png - 2> log"""),
)
