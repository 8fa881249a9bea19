ALTER TABLE "passages" ADD COLUMN "title_words" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("title", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A')) STORED;
CREATE INDEX "passages_titles" ON "passages" USING gin ("title_words") WHERE "passages"."chunk" = 0;
