-- expand
ALTER TABLE "decision_comments" ADD COLUMN "search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("body", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A')) STORED;
ALTER TABLE "decisions" ADD COLUMN "search_alternatives" "tsvector" GENERATED ALWAYS AS (to_tsvector('simple', translate(left(regexp_replace("alternatives"::text,
      '"(option|pros|cons)":|\\[nrt]', ' ', 'g'), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                '))) STORED;
ALTER TABLE "task_comments" ADD COLUMN "search" "tsvector" GENERATED ALWAYS AS (setweight(to_tsvector('simple', translate(left(coalesce("body", ''), 200000), '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ')), 'A')) STORED;
CREATE INDEX "decision_comments_search" ON "decision_comments" USING gin ("search");
CREATE INDEX "decisions_search_alternatives" ON "decisions" USING gin ("search_alternatives");
CREATE INDEX "task_comments_search" ON "task_comments" USING gin ("search");
